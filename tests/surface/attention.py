"""Attention maps: they are made, and they act."""

import numpy as np

import attnflow as af

from .samples import MATRIX, SYMMETRIC
from .table import (
    Abstract,
    Call,
    arguments,
)

OBJECT = {"jit": "it makes an object; what that computes is traced in the rows of `field`"}
ROWS = [
    Abstract("attention.AbstractAttention"),
    Abstract("attention.AbstractEnergy"),
    Call("Softmax", arguments=arguments(beta=2.0, B=SYMMETRIC, V=MATRIX), without=OBJECT),
    Call("Softmax", case="Q, K", arguments=arguments(beta=2.0, Q=MATRIX, K=SYMMETRIC), without=OBJECT),
    Call("Unnormalized", arguments=arguments(beta=2.0, B=SYMMETRIC, V=MATRIX), without=OBJECT),
    Call("Hardmax", arguments=arguments(B=SYMMETRIC, V=MATRIX, tol=0.1), without=OBJECT),
    Call("L2", arguments=arguments(g=2.0, V=MATRIX, Q=MATRIX, K=SYMMETRIC), without=OBJECT),
    Call("Sinkhorn", arguments=arguments(beta=2.0, B=SYMMETRIC, V=MATRIX, tol=1e-9, max_iterations=50), without=OBJECT),
    Call("Sinkhorn", case="half steps", arguments=arguments(beta=2.0, half_steps=3), without=OBJECT),
    Call("Sigmoid", arguments=arguments(beta=2.0, bias=0.5, B=SYMMETRIC, V=MATRIX), without=OBJECT),
    Call("Linear", arguments=arguments(beta=2.0, B=SYMMETRIC, V=MATRIX), without=OBJECT),
    Call(
        "attention.SoftmaxHeads",
        arguments=arguments(
            Q=np.stack([MATRIX, SYMMETRIC]),
            K=MATRIX[None],
            V=SYMMETRIC[None],
            W=np.stack([MATRIX, SYMMETRIC]),
            beta=2.0,
            q_bias=MATRIX[:2],
            k_bias=MATRIX[:1],
            v_bias=MATRIX[:1],
            bias=MATRIX[0],
            frequencies=np.array([0.5]),
        ),
        without=OBJECT,
    ),
    Call(
        "MultiHead",
        arguments=lambda: {"heads": [af.Softmax(1.0), af.Linear(0.5)], "W": [MATRIX, SYMMETRIC]},
        without=OBJECT,
    ),
]
