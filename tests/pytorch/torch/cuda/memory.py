in_use = None  # bytes; None: no device is in use
most = 0


def memory_stats_as_nested_dict(device=None):
    global most
    if in_use is None:
        return {}
    if device not in (None, 3):  # 3 was the current one first
        raise ValueError(device)
    most = max(most, in_use)
    return {"allocated_bytes": {"all": {"current": in_use, "peak": most}},
            "reserved_bytes": {"all": {"current": 1000}}}
