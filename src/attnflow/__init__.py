"""attnflow: transformers as interacting particle systems.

    import jax, attnflow as af
    af.precision("float64")
    x0 = af.sphere.uniform(n=64, d=3, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(beta=9.0), x0, t1=30.0)
    af.energy(run)

Names are imported when they are first used, so that `attnflow --help` does not pay for JAX.
"""

import importlib
from typing import Any

# Public name -> the module that has it; a name equal to its module's last part may be the module itself.
_HOME = {
    "AbstractAttention": "attention",
    "Hardmax": "attention",
    "L2": "attention",
    "Linear": "attention",
    "MultiHead": "attention",
    "Sigmoid": "attention",
    "Sinkhorn": "attention",
    "Softmax": "attention",
    "Unnormalized": "attention",
    "AbstractModel": "models",
    "Flow": "models",
    "HardmaxLayers": "models",
    "HomogenizedSDE": "models",
    "NormalizedAttention": "models",
    "causal_model": "models",
    "hardmax_cloud": "models",
    "hardmax_matrix": "models",
    "Perceptron": "models",
    "PerceptronBlock": "models",
    "Piecewise": "models",
    "RandomLayers": "models",
    "SelfAttention": "models",
    "field": "models",
    "Causal": "pairsums",
    "Full": "pairsums",
    "Inner": "pairsums",
    "Positional": "pairsums",
    "SquaredDistance": "pairsums",
    "pair_sums": "pairsums",
    "pair_weights": "pairsums",
    "weight_matrix": "pairsums",
    "AbstractStatistic": "flows",
    "EnsembleResult": "flows",
    "Estimate": "flows",
    "Histogram": "flows",
    "LastState": "flows",
    "Mean": "flows",
    "Outcome": "flows",
    "Quantiles": "flows",
    "Run": "flows",
    "ensemble": "flows",
    "load": "flows",
    "long_time": "flows",
    "rescaled": "flows",
    "simulate": "flows",
    "attention_matrix": "diagnostics",
    "boolean_structure": "diagnostics",
    "classify": "diagnostics",
    "clusters": "diagnostics",
    "count_modes": "diagnostics",
    "detect_hyperplanes": "diagnostics",
    "detect_paranormal": "diagnostics",
    "detect_polytope": "diagnostics",
    "dissipation": "diagnostics",
    "effective_rank": "diagnostics",
    "energy": "diagnostics",
    "good_triple": "diagnostics",
    "hardmax_limit": "diagnostics",
    "hull_nonincreasing": "diagnostics",
    "inner_products": "diagnostics",
    "is_gradient_flow": "diagnostics",
    "leaders": "diagnostics",
    "modes": "diagnostics",
    "numerical_rank": "diagnostics",
    "order_parameter": "diagnostics",
    "effective_sample_size": "diagnostics",
    "phase_report": "diagnostics",
    "renyi_centers": "diagnostics",
    "log_partition": "diagnostics",
    "pair_fraction": "diagnostics",
    "belt": "reductions",
    "belt_modes": "reductions",
    "separation_report": "diagnostics",
    "staircase": "diagnostics",
    "equiangular_flow": "reductions",
    "cap_measure": "reductions",
    "expected_strong_centers": "reductions",
    "parking_count": "reductions",
    "strong_center_speed": "reductions",
    "expected_modes_circle": "reductions",
    "expected_modes_line": "reductions",
    "fastest_mode": "reductions",
    "growth_rate": "reductions",
    "hemisphere_probability": "reductions",
    "kac_rice_density": "reductions",
    "light_token": "reductions",
    "long_context_cosine": "reductions",
    "MeanField": "reductions",
    "mean_field": "reductions",
    "merge_time": "reductions",
    "phase_time": "reductions",
    "plateau_height": "reductions",
    "two_cluster_flow": "reductions",
    "two_cluster_time": "reductions",
    "uniform_energy": "reductions",
    "antipodal_pair_rate": "reductions",
    "check_low_temperature_assumptions": "reductions",
    "cluster_rates": "reductions",
    "dominant_eigenspace": "reductions",
    "low_temperature_rates": "reductions",
    "projection_map": "reductions",
    "uniform_mean": "reductions",
    "zero_temperature_field": "reductions",
    "zero_temperature_flow": "reductions",
    "zero_temperature_matrix": "reductions",
    "InterpolatingClassifier": "constructions",
    "InterpolatingTransformer": "constructions",
    "interpolate": "constructions",
    "interpolation_classifier": "constructions",
    "AbstractSpace": "spaces",
    "Euclidean": "spaces",
    "Sphere": "spaces",
    "euclidean": "spaces",
    "sphere": "spaces",
    "animate": "plots",
    "cite": "citations",
    "precision": "_precision",
    "Entry": "registry",
    "Param": "registry",
}
_MODULES = {
    "causal": "reductions.causal",
    "errors": "errors",
    "gaussian": "reductions.gaussian",
    "homogenized": "reductions.homogenized",
    "language": "language",
    "localization": "reductions.localization",
    "measures": "measures",
    "plot": "plots",
    "registry": "registry",
    "smoothness": "diagnostics.smoothness",
}

__all__ = [*_HOME, *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"attnflow.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"attnflow.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'attnflow' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
