"""BibTeX for whatever was used: a paper key, a registry entry, a model, a run.

Each of the library's paper keys stands for one article, or for two that belong together (`causal`). Entries carry the
arXiv number always, and a journal or conference where the publication is known.
"""

import sys
from typing import Any

from .errors import InputError
from .versions import version

_GESHKOVSKI, _RIGOLLET, _POLYANSKIY = "Geshkovski, Borjan", "Rigollet, Philippe", "Polyanskiy, Yury"
_LETROUIT, _KOUBBI, _RUIZ = "Letrouit, Cyril", "Koubbi, Hugo", r"Ruiz-Balet, Dom{\`e}nec"
_ALVAREZ = r"{\'A}lvarez-L{\'o}pez, Antonio"
_ALCALDE, _FANTUZZI, _ZUAZUA = "Alcalde, Albert", "Fantuzzi, Giovanni", "Zuazua, Enrique"


def _article(key: str, eprint: str, year: int, title: str, *authors: str, **published: str) -> str:
    kind = "inproceedings" if "booktitle" in published else "article" if "journal" in published else "misc"
    fields = {"title": f"{{{title}}}", "author": " and ".join(authors), "year": str(year), **published}
    return _entry(kind, key, **fields, eprint=eprint, archiveprefix="arXiv", url=f"https://arxiv.org/abs/{eprint}")


def _entry(kind: str, key: str, **fields: str) -> str:
    width = max(map(len, fields))
    lines = (f"  {name:<{width}} = {{{value}}}," for name, value in fields.items())
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


PAPERS: dict[str, tuple[str, ...]] = {
    "perspective": (
        _article(
            "geshkovski2025mathematical",
            "2312.10794",
            2025,
            "A mathematical perspective on Transformers",
            *(_GESHKOVSKI, _LETROUIT, _POLYANSKIY, _RIGOLLET),
            journal="Bulletin of the American Mathematical Society",
            volume="62",
            number="3",
            pages="427--479",
        ),
    ),
    "metastability": (
        _article(
            "geshkovski2024dynamic",
            "2410.06833",
            2024,
            "Dynamic metastability in the self-attention model",
            *(_GESHKOVSKI, _KOUBBI, _POLYANSKIY, _RIGOLLET),
        ),
    ),
    "modes": (
        _article(
            "geshkovski2024number",
            "2412.09080",
            2024,
            "On the number of modes of Gaussian kernel density estimators",
            *(_GESHKOVSKI, _RIGOLLET, "Sun, Yihang"),
        ),
    ),
    "clusters": (
        _article(
            "geshkovski2023emergence",
            "2305.05465",
            2023,
            "The emergence of clusters in self-attention dynamics",
            *(_GESHKOVSKI, _LETROUIT, _POLYANSKIY, _RIGOLLET),
            booktitle="Advances in Neural Information Processing Systems",
        ),
    ),
    "low-temperature": (
        _article(
            "alcalde2026quantifying",
            "2605.10931",
            2026,
            "Quantifying Concentration Phenomena of Mean-Field Transformers in the Low-Temperature Regime",
            *(_ALCALDE, "Bungert, Leon", "Riedl, Konstantin", "Roith, Tim"),
        ),
    ),
    "hardmax": (
        _article(
            "alcalde2025clustering",
            "2407.01602",
            2025,
            "Clustering in pure-attention hardmax transformers and its role in sentiment analysis",
            *(_ALCALDE, _FANTUZZI, _ZUAZUA),
            journal="SIAM Journal on Mathematics of Data Science",
            volume="7",
            number="3",
            doi="10.1137/24M167086X",
        ),
    ),
    "interpolation": (
        _article(
            "alcalde2025exact",
            "2502.02270",
            2025,
            "Exact Sequence Interpolation with Transformers",
            *(_ALCALDE, _FANTUZZI, _ZUAZUA),
        ),
    ),
    "unified": (
        _article(
            "castin2025unified",
            "2501.18322",
            2025,
            "A Unified Perspective on the Dynamics of Deep Transformers",
            *(r"Castin, Val{\'e}rie", "Ablin, Pierre", r"Carrillo, Jos{\'e} Antonio", r"Peyr{\'e}, Gabriel"),
        ),
    ),
    "causal": (
        _article(
            "duerinckx2026kinetic",
            "2605.09213",
            2026,
            "Kinetic theory for Transformers and the lost-in-the-middle phenomenon",
            *("Duerinckx, Mitia", _GESHKOVSKI, "Rossi, Stefano"),
        ),
        _article(
            "karagodin2024clustering",
            "2411.04990",
            2024,
            "Clustering in Causal Attention Masking",
            *("Karagodin, Nikita", _POLYANSKIY, _RIGOLLET),
            booktitle="Advances in Neural Information Processing Systems",
        ),
    ),
    "homogenized": (
        _article(
            "koubbi2026homogenized",
            "2604.01978",
            2026,
            "Homogenized Transformers",
            *(_KOUBBI, _GESHKOVSKI, _RIGOLLET),
        ),
    ),
    "perceptron": (
        _article(
            "alvarezlopez2026perceptrons",
            "2601.21366",
            2026,
            "Perceptrons and localization of attention's mean-field landscape",
            *(_ALVAREZ, _GESHKOVSKI, _RUIZ),
        ),
    ),
    "measure-to-measure": (
        _article(
            "geshkovski2024measure",
            "2411.04551",
            2024,
            "Measure-to-measure interpolation using Transformers",
            *(_GESHKOVSKI, _RIGOLLET, _RUIZ),
            note="To appear in Foundations of Computational Mathematics",
        ),
    ),
    "relu-transport": (
        _article(
            "alvarezlopez2025constructive",
            "2412.19366",
            2025,
            "Constructive approximate transport maps with normalizing flows",
            *(_ALVAREZ, _GESHKOVSKI, _RUIZ),
            journal="Applied Mathematics and Optimization",
            volume="92",
            number="2",
            pages="33",
            doi="10.1007/s00245-025-10299-7",
        ),
    ),
    "diffeomorphism": (
        _article(
            "geshkovski2026constructive",
            "2602.08606",
            2026,
            "Constructive conditional normalizing flows",
            *(_GESHKOVSKI, _RUIZ),
        ),
    ),
    "time-delayed": (
        _article(
            "alcalde2026time",
            "2602.08478",
            2026,
            "Time-Delayed Transformers for Data-Driven Modeling of Low-Dimensional Dynamics",
            *(_ALCALDE, "Widhalm, Markus", r"Y{\i}lmaz, Emre"),
        ),
    ),
}
"""BibTeX entries by paper key."""


def software() -> str:
    """The library's own BibTeX entry, with the version in use."""
    return _entry(
        "misc",
        "attnflow",
        title="{attnflow: transformers as interacting particle systems}",
        author="{The attnflow authors}",
        year="2026",
        note=f"Python library, version {version('attnflow')}, Apache-2.0",
    )


def cite(thing: Any = "attnflow") -> str:
    """BibTeX to paste: the papers behind `thing`, then the library itself.

    `thing` is a paper key, or anything that says which papers it rests on: a registry entry, an experiment, an
    attention map, a model (its own papers and those of its attention), a run (those of its model). `"attnflow"`
    gives the library's own entry alone.

    >>> print(cite("homogenized").splitlines()[0])
    @misc{koubbi2026homogenized,
    """
    keys = [thing] if isinstance(thing, str) else _keys(thing)
    papers = [entry for key in dict.fromkeys(keys) if key != "attnflow" for entry in _paper(key)]
    return "\n\n".join([*papers, software()]) + "\n"


def _keys(thing: Any) -> list[str]:
    """Paper keys of a thing, of its attention, of its model and of its model's attention, in this order."""
    model = getattr(thing, "model", None)
    parts = [thing, getattr(thing, "attention", None), model, getattr(model, "attention", None)]
    keys = [key for part in parts for key in _own(part)]
    if isinstance(paper := getattr(thing, "paper", None), str):  # an experiment names one paper
        keys.append(paper)
    if not keys:
        raise InputError(
            f"a {type(thing).__name__} names no papers; give a paper key ({', '.join(PAPERS)}), "
            "a registry entry, a model or a run."
        )
    return keys


def _own(part: Any) -> tuple[str, ...]:
    """The papers a thing names itself, or else those of the registry entry that stands beside its class."""
    if isinstance(papers := getattr(part, "papers", None), tuple):
        return papers
    beside = vars(sys.modules[type(part).__module__]).values()
    return tuple(key for entry in beside if getattr(entry, "factory", None) is type(part) for key in entry.papers)


def _paper(key: Any) -> tuple[str, ...]:
    if not isinstance(key, str) or key not in PAPERS:
        raise InputError(f"paper {key!r} is unknown; the keys are: {', '.join(PAPERS)}.")
    return PAPERS[key]
