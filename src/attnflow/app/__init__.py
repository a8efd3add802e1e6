"""The browser page `attnflow explore`: tokens that move, and instruments that measure them.

The server computes, the page draws. One websocket per visitor carries requests as JSON and states as binary frames;
a state is computed only when the page has requested it, so states never queue up.
"""
