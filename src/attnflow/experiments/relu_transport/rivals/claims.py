"""Claims about built and trained flows, and their measurements on the results of `rivals`."""

from ... import Claim, Results

PAGE = "docs/theory/relu-transport.md, Trained flows"


def returned(part: str):
    return lambda results: [float(data["returned"]) for _, data in results.where(part=part)]


def spline_over_built(results: Results) -> float:
    """The divergence of the smallest spline flow over the least one of schedules with no more numbers."""
    flows = [data for _, data in results.where(part="trained", kind="spline")]
    smallest = min(flows, key=lambda data: float(data["parameters"]))
    most = 1.5 * float(smallest["parameters"])
    built = [float(data["kl"]) for _, data in results.where(part="built") if float(data["parameters"]) <= most]
    return float(smallest["kl"]) / min(built)


CLAIMS = [
    Claim(
        id="rivals-inverse",
        statement="Schedules: the map after its inverse, the largest distance of a point from where it was",
        kind="at_most",
        expected=1e-9,
        measure=returned("built"),
        source="docs/theory/relu-schedules.md, One neuron",
        provenance="derived",
    ),
    Claim(
        id="rivals-trained-inverse",
        statement="Coupling flows: the same, whose layers have closed inverses, too",
        kind="at_most",
        expected=1e-9,
        measure=returned("trained"),
        source=PAGE,
        provenance="derived",
    ),
    Claim(
        id="rivals-parameters",
        statement="KL of the smallest spline flow over the least one of schedules with up to 1.5 times its parameters",
        kind="at_most",
        expected=1.0,
        measure=spline_over_built,
        source=PAGE,
        provenance="observation",
        note="Training pays: per parameter a trained spline flow is closer to the target.",
    ),
]
