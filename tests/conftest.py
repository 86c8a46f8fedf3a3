from hypothesis import HealthCheck, settings

# No example is too slow: how long one takes says how busy the machine is.
settings.register_profile("any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_speed")
