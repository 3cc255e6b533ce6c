class _MapDatasetFetcher:
    def __init__(self, dataset, collate_fn):
        self.dataset, self.collate_fn = dataset, collate_fn

    def fetch(self, indices):
        return self.collate_fn([self.dataset[index] for index in indices])


class _IterableDatasetFetcher(_MapDatasetFetcher):
    def fetch(self, indices):
        return self.collate_fn([next(self.dataset) for _ in indices])
