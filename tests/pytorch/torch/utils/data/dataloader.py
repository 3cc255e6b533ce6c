class _BaseDataLoaderIter:
    def __init__(self, items):
        self.items = iter(items)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.items)


class DataLoader:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return _BaseDataLoaderIter(self.items)
