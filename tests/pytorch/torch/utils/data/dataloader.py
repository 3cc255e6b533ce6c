class _BaseDataLoaderIter:
    def __init__(self, items):
        self.items = items
        self._num_yielded = 0

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.items)

    def __next__(self):
        if self._num_yielded == len(self.items):
            raise StopIteration
        self._num_yielded += 1
        return self.items[self._num_yielded - 1]


class DataLoader:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return _BaseDataLoaderIter(self.items)
