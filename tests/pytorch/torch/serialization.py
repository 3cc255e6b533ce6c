def save(obj, f):
    f(obj)
