"""Precision, citations, the registry, errors."""

import attnflow as af

from .samples import run
from .table import Abstract, Call, Constant, arguments

NO_ARRAY = {"jit": "there is nothing to trace"}
CITED = {**NO_ARRAY, "float32": "text, no numbers"}

ROWS = [
    Call("precision", arguments=arguments(name="float64"), without={**NO_ARRAY, "float32": "it is what switches"}),
    Call("cite", arguments=arguments(thing="perspective"), without=CITED),
    Call("cite", case="run", arguments=lambda: {"thing": run()}, without=CITED),
    Call("citations.software", without=CITED),
    Constant("citations.PAPERS", reason="the papers by key"),
    Call(
        "registry.Param",
        arguments=arguments(default=1.0, bounds=(0.0, 2.0)),
        without={**NO_ARRAY, "junk:default:bool": "a parameter may be a switch"},
    ),
    Call(
        "registry.Entry",
        arguments=lambda: {"kind": "attention", "name": "mine", "factory": af.Softmax, "summary": "a map"},
        without={**NO_ARRAY, "junk:name": "any text is a name", "junk:summary": "any text is a summary"},
    ),
    Abstract("engines.AbstractEngine"),
    Constant("registry.ROOMS", reason="the packages that are searched for entries"),
    Call("registry.entries", arguments=arguments(kind="law"), without=CITED),
    Call("registry.get", arguments=arguments(kind="law", name="uniform"), without=CITED),
    *(
        Constant(f"errors.{name}", reason="an error class")
        for name in ("AttnflowError", "AttnflowWarning", "FileError", "InputError", "SolveError")
    ),
]
