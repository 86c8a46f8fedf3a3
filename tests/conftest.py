from hypothesis import HealthCheck, settings

# No example is too slow: how long one takes says how busy the machine is. The suite tries the same
# few of each property every time; `--hypothesis-profile=full` tries a hundred, others each time.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "few", settings.get_profile("full"), max_examples=25, derandomize=True, database=None
)
settings.load_profile("few")
