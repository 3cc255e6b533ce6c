_worker_info = None
