import threading


class _Thread(threading.local):
    task = -1


thread = _Thread()


def _current_graph_task_id():
    return thread.task
