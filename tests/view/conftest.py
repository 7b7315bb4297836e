"""No test is a stopwatch: hypothesis must not be one either."""

from __future__ import annotations

import hypothesis

# The first text that is drawn in a new environment takes seconds, all by itself.
hypothesis.settings.register_profile(
    "house",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("house")
