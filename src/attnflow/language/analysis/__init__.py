"""The view of a real model that the theory has: its tokens as particles, its layers as time (`analyze`)."""

from .analysis import Analysis as Analysis
from .analysis import analyze as analyze
