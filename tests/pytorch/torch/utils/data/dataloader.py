class _BaseDataLoaderIter:
    def __init__(self, items):
        self.items = self._dataset = items
        self._reset(None, first_iter=True)

    def _reset(self, loader, first_iter=False):
        self._num_yielded = 0
        self.following = iter(self.items)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.items)  # a stream has none

    def __next__(self):
        item = next(self.following)
        self._num_yielded += 1
        return item


class DataLoader:
    def __init__(self, items, persistent_workers=False):
        self.dataset = items
        self.items = items
        self.persistent_workers = persistent_workers
        self._iterator = None

    def __iter__(self):
        if not self.persistent_workers:
            return _BaseDataLoaderIter(self.items)
        if self._iterator is None:
            self._iterator = _BaseDataLoaderIter(self.items)
        else:
            self._iterator._reset(self)
        return self._iterator
