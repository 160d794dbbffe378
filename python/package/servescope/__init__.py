"""Simulates multi-tenant LLM serving: the same runs, comparisons, sweeps and capacity searches as the terminal's `servescope`.

>>> import servescope
>>> summary, requests = servescope.simulate({"workload.rate_rps": 2.5})
>>> summary["requests"]["completed"], requests["first_token_s"].mean()
"""

from ._api import capacity, compare, join, plan, read_plan, simulate, sweep
from ._errors import Failure, ServescopeError
from ._inputs import ProfileInput, ScenarioInput, Settings, TraceInput
from ._results import Document, Requests, Simulation, SweepResult
from ._servescope import Journal, Plan, Profile, Scenario, Trace, __version__

__all__ = [
    "Document",
    "Failure",
    "Journal",
    "Plan",
    "Profile",
    "ProfileInput",
    "Requests",
    "Scenario",
    "ScenarioInput",
    "ServescopeError",
    "Settings",
    "Simulation",
    "SweepResult",
    "Trace",
    "TraceInput",
    "__version__",
    "capacity",
    "compare",
    "join",
    "plan",
    "read_plan",
    "simulate",
    "sweep",
]
