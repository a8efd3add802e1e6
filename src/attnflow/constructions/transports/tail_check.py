r"""Which divergences a finite schedule can make finite at all.

A schedule is affine outside of finitely many half-spaces, so $\rho_T$ has, ray by ray, the tail of an affine image of
the base. $KL(\rho_*|\rho_T)$ is finite only if $-\log\rho_B$ of an affine image has a mean under the target, and
$KL(\rho_T|\rho_*)$ only if $-\log\rho_*$ has a mean under affine images of the base: a condition on moments.
"""

import math
from dataclasses import dataclass

from .laws import AbstractLaw, Law, Samples, Tails, as_law
from .laws.hill import hill


@dataclass(frozen=True, repr=False)
class TailCheck:
    r"""Whether each divergence can be finite: True, False, or `None`, where it depends on more than the tails.

    `kl` is $KL(\rho_*|\rho_T)$, of the target from the law that the schedule makes, `reverse_kl` is
    $KL(\rho_T|\rho_*)$; `reason` and `reverse_reason` say why.
    """

    kl: bool | None
    reverse_kl: bool | None
    reason: str
    reverse_reason: str

    def __repr__(self) -> str:
        words = {True: "can be finite", False: "is infinite", None: "is open"}
        return (
            f"KL(target|flow) {words[self.kl]}: {self.reason}\nKL(flow|target) {words[self.reverse_kl]}: "
            f"{self.reverse_reason}"
        )


def tail_check(base: Law, target: Law) -> TailCheck:
    r"""Say which of $KL(\rho_*|\rho_T)$ and $KL(\rho_T|\rho_*)$ can be finite for any schedule from `base` to `target`.

    With a Gaussian base the first is finite if and only if the target has second moments: Laplace's and Student's law
    with $\nu = 3$ do, Cauchy's does not. The second needs a target that vanishes no faster than the base.

    Alvarez-Lopez, Geshkovski, Ruiz-Balet, *Constructive approximate transport maps with normalizing flows*,
    arXiv:2412.19366, assume a condition on relative tails; this one is derived in docs/theory/relu-transport.md.

    >>> tail_check(laws.StandardNormal(), laws.Cauchy()).kl                            # doctest: +SKIP
    False
    """
    base, target = as_law("base", base), as_law("target", target)
    kl, reason = _verdict(base, target, "target", "base")
    reverse_kl, reverse_reason = _verdict(target, base, "base", "target")
    return TailCheck(kl, reverse_kl, reason, reverse_reason)


def _verdict(judge: AbstractLaw, drawn: AbstractLaw, whose: str, by: str) -> tuple[bool | None, str]:
    """Whether minus the log density of `judge` has a mean under `drawn`, both up to affine maps."""
    for law, name in ((drawn, whose), (judge, by)):
        if law.tails is None:
            return None, _unknown(law, name)
    assert judge.tails is not None and drawn.tails is not None
    return _moments(judge.tails, drawn.tails, whose, by)


def _moments(judge: Tails, drawn: Tails, whose: str, by: str) -> tuple[bool | None, str]:
    order = judge.light.cost
    if order == 0:
        return True, f"the {by} has {judge}, whose logarithm has a mean under the {whose}."
    if order < math.inf:
        if drawn.heavy.has_moment(order):
            return True, f"the {whose} has {drawn}, and with it the moment of order {order:.3g} that is needed."
        if judge.heavy == judge.light:
            return False, f"the {whose} has {drawn} and no moment of order {order:.3g}, which is needed."
        return None, f"the {whose} has {drawn}, the {by} {judge}: it depends on which sides meet."
    if drawn.light.cost < math.inf:
        return False, f"the {by} has {judge}, and outside of its image the {whose} has mass."
    return None, f"the {by} has {judge}, the {whose} {drawn}: it depends on whether the supports agree."


def _unknown(law: AbstractLaw, name: str) -> str:
    if isinstance(law, Samples):
        return f"the {name} is known by {law.n} samples, which show no tail; {hill(law.x)}"
    return f"the tails of the {name} are not known."
