"""Numbers and words for readers, escaped for HTML."""

import html
from typing import Any


def e(value: Any) -> str:
    """Any text, escaped."""
    return html.escape(str(value))


def number(value: Any, digits: int = 10) -> str:
    """A measured value: enough digits to compare, powers of ten written as such, None where nothing is."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float):
        return e(value)
    text = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    mantissa, separator, exponent = text.partition("e")
    mantissa = mantissa.replace("-", "−")
    if not separator:
        return mantissa
    power = f"10<sup>{str(int(exponent)).replace('-', '−')}</sup>"
    return power if mantissa == "1" else f"{mantissa} · {power}"


def seconds(value: float | int) -> str:
    """A duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if value < 10:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(n: int, noun: str) -> str:
    """`1 claim`, `2 claims`."""
    return f"{n} {noun}{'' if n == 1 else 's'}"
