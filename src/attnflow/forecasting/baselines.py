"""What every forecaster has to beat: the last value, and the mean of the season. Neither is fitted."""

import numpy as np

from ..checks import whole

LEAST_CORRELATION = 0.3


def persistence(history: np.ndarray, n_steps: int) -> np.ndarray:
    """The last row again and again; of each column its last value that is there."""
    rows = np.arange(len(history))
    known = ~np.isnan(history)
    last = np.where(known, rows[:, None], -1).max(axis=0)
    return np.broadcast_to(history[last, np.arange(history.shape[1])], (n_steps, history.shape[1])).copy()


def seasonal_mean(history: np.ndarray, n_steps: int, period: int | None) -> np.ndarray:
    """The mean of all earlier rows at the same place of the period; without one, the mean of all rows."""
    mean = np.nanmean(history, axis=0)
    if period is None:
        return np.broadcast_to(mean, (n_steps, len(mean))).copy()
    cycles = len(history) // period
    if cycles == 0:
        return np.broadcast_to(mean, (n_steps, len(mean))).copy()
    aligned = history[-cycles * period :].reshape(cycles, period, -1)
    count = (~np.isnan(aligned)).sum(axis=0)
    season = np.where(count > 0, np.nansum(aligned, axis=0) / np.maximum(count, 1), mean)
    return season[np.arange(n_steps) % period]


def season_of(values: np.ndarray, longest: int | None = None) -> int | None:
    """The period, in rows: the lag of the highest peak of the mean autocorrelation, if it is above 0.3.

    A straight line is taken out before, and the first descent from lag zero does not count. Gaps are filled by lines.
    """
    n = len(values)
    longest = n // 3 if longest is None else min(whole("longest", longest, 2), n // 2)
    if longest < 2:
        return None
    rows = np.arange(n)
    total = np.zeros(longest + 1)
    for column in values.T:
        known = ~np.isnan(column)
        if known.sum() < 3:
            continue
        line = np.interp(rows, rows[known], column[known])
        line = line - np.polyval(np.polyfit(rows, line, 1), rows)
        power = np.abs(np.fft.rfft(line, 2 * n)) ** 2
        if power.sum() == 0:
            continue
        r = np.fft.irfft(power)[: longest + 1]
        total += r / r[0] * n / (n - np.arange(longest + 1))  # of the pairs that there are
    total /= values.shape[1]
    below = np.flatnonzero(total < 0)
    if not below.size:
        return None
    lags = np.arange(int(below[0]) + 1, longest)
    peaks = lags[(total[lags] >= total[lags - 1]) & (total[lags] > total[lags + 1])]
    if not peaks.size or total[peaks].max() < LEAST_CORRELATION:
        return None
    # A multiple of the period correlates as well: the first peak that is nearly as high is the period.
    return int(peaks[total[peaks] >= 0.9 * total[peaks].max()][0])
