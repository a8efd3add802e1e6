"""The colours of the library, in its figures and on its page."""

PALETTE = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "sky": "#56B4E9",
    "orange": "#E69F00",
    "yellow": "#F0E442",
    "black": "#000000",
}
"""The colours of Okabe and Ito, distinct for every kind of colour vision; curves take them in this order."""
