"""Iterations of training loops and what lies in them behind the optimizer's step, for nvtally_pytorch.

An iteration runs from its first event (a batch, a forward or a backward pass while gradients are taken) to that of the
next one. It is a start/end range, because the program's own ranges may cross it. What follows the step is named by
push/pop ranges of the thread that trains, none within another:

  evaluation     forward passes without gradient, or in the mode of evaluation of a model that was trained before. A loop
                 over a loader is one evaluation, with its data; so is what lies in one no_grad() from the first pass on.
  checkpoint     functions that save (nvtally_pytorch)
  between steps  the rest

The last iteration ends with its loop, where that is known: its loader has no more batches or is gone, or another
optimizer is made. Where it is not, and the process ends by itself, the mark `loop ended` says so, and readers end it with
its step.
"""
import functools
import threading
import weakref


class _State:
    """Of a thread."""
    __slots__ = ("modules", "root", "evaluates", "fetches", "batch", "in_step", "saves", "steps", "iteration", "gap",
                 "evaluation", "loader")

    def __init__(self):
        self.modules = 0  # calls that it is in
        self.root = None  # weak reference to the outermost module whose call it is in
        self.evaluates = False  # the model that was called last
        self.fetches = 0  # batches that it is making
        self.batch = None  # what collates the one that is being read
        self.in_step = False
        self.saves = False
        self.steps = 0
        self.iteration = None  # its own, where other threads train, too
        self.gap = False  # the range `between steps` is open
        self.evaluation = False  # the range `evaluation` is open
        self.loader = None  # weak reference to the iterator that feeds that


class _Thread(threading.local):
    def __init__(self):
        self.state = _State()


thread = _Thread()
is_worker = is_backward = count_memory = bool  # and may_learn: nvtally_pytorch's, until then False
learner = None  # weak reference to the model that was first called to train after all others
_library = None
_push = _pop = None
_names = {}
_iteration_name = _gap_name = None


def may_learn():
    return True


def set_up(library, name):
    """To be called once a tool listens, before all others. name: makes names of ranges."""
    global _library, _push, _pop, _iteration_name, _gap_name
    _library, _push, _pop = library, library.nvtally_pytorch_push, library.nvtally_pytorch_pop
    _iteration_name, _gap_name = name("iteration"), name("between steps")
    for text in ("evaluation", "checkpoint", "loop ended"):
        _names[text] = name(text)


# --- behind a step ---------------------------------------------------------------------------------


def _is_outermost(state):
    """Whether a range may end here that was begun outside of all calls of ours."""
    return not (state.modules or state.fetches or state.in_step or state.saves or is_backward())


def _pause(state):
    if state.gap:
        state.gap = False
        _pop()


def _resume(state):
    """Behind whatever has paused it."""
    iteration = state.iteration or _iteration
    if iteration.stepped and not (state.gap or state.evaluation) and _is_outermost(state) \
            and iteration.trainer == threading.get_ident():
        state.gap = True
        _push(_gap_name)


def evaluate(loader=None):
    """A batch or a pass of an evaluation comes, which begins one where none is under way."""
    state = thread.state
    if state.evaluation:
        if loader is not None and state.loader is None:
            state.loader = weakref.ref(loader, _lost)
        return
    iteration = state.iteration or _iteration
    if not Iteration.may_end or iteration.is_open() or is_worker():
        return
    _pause(state)
    state.evaluation = True
    _push(_names["evaluation"])
    if loader is None and iteration.aside is not None:
        loader = iteration.aside()
    state.loader = None if loader is None else weakref.ref(loader, _lost)


def _end_evaluation(state):
    if state.evaluation:
        state.evaluation = False
        state.loader = None
        _pop()


def settle(state):
    """Gradients may be taken again, or a pass has ended: an evaluation without a loader ends with that."""
    if state.evaluation and state.loader is None and may_learn() and _is_outermost(state):
        _end_evaluation(state)
        _resume(state)


def _lost(reference):
    state = thread.state
    if state.loader is reference:
        state.loader = None
        settle(state)


def saving(function):
    """The same function, with a range `checkpoint` around each outermost call."""
    @functools.wraps(function)
    def saved(*arguments, **named):
        state = thread.state
        if not _is_outermost(state) or is_worker():
            return function(*arguments, **named)
        _pause(state)
        state.saves = True
        _push(_names["checkpoint"])
        try:
            return function(*arguments, **named)
        finally:
            _pop()
            state.saves = False
            _resume(state)

    return saved


# --- iterations ------------------------------------------------------------------------------------


class Iteration:
    """The one that is under way, of all threads until a second one trains: helpers of a loop take part in its own."""
    range = None
    beginner = None   # thread that began it
    trainer = None    # thread that makes steps
    feeder = None     # weak reference to the iterator that its batch came from
    dataset = None    # id of what that reads
    is_batch = False  # that batch is all that there is in it so far
    is_first = False  # and it is the first one of its iterator, in a loop that has made steps
    aside = None      # weak reference to the iterator of another set that gave a batch behind the step
    optimizer = None  # weak reference to the one whose steps end iterations
    stepped = False   # its step is done: it ends where the next one begins
    may_end = False   # of the class: there was an optimizer: programs that only infer have no iterations

    def __init__(self):
        self.others = {}  # id of an optimizer -> weak reference: those that stepped since that one did

    def is_open(self):
        """Whether there is one whose step is to come."""
        return self.range is not None and not self.stepped

    def begin(self, state, loader=None):
        is_open = self.range is not None and not self.stepped
        if is_open and (loader is not None or not self.is_batch):
            if state.gap:
                _pause(state)  # another thread has begun it
            return
        if not self.may_end or not may_learn() or is_worker() or loader is not None and self._is_aside(loader):
            return
        if state.evaluation:
            _end_evaluation(state)
        if not is_open:
            self._next(state)
            count_memory()
        self.is_batch = loader is not None
        if self.is_batch:
            self._watch(loader)

    def _next(self, state):
        """End the one whose step was made, and begin another."""
        if self.range is not None and state.gap:
            state.gap = False
            self.range = _library.nvtally_pytorch_next(self.range, _iteration_name)
        else:
            self.close()
            self.range = _library.nvtally_pytorch_start(_iteration_name)
        self.stepped = False
        self.aside = None
        self.beginner = threading.get_ident()

    def _watch(self, loader):
        if self.feeder is None or self.feeder() is not loader:
            self.feeder = weakref.ref(loader, self._lose)
            self.dataset = id(getattr(loader, "_dataset", loader))
        self.is_first = self.optimizer is not None and not getattr(loader, "_num_yielded", 0)

    def _is_aside(self, loader):
        """Whether a batch behind the step is of another set than those of the loop, which goes on: of one to evaluate on,
        as a rule. If it is trained on, that begins the iteration."""
        if not self.stepped or self.feeder is None or self.feeder() is None or self.is_fed_by(loader):
            return False
        self.aside = weakref.ref(loader)
        return True

    def is_fed_by(self, loader):
        """Whether a batch comes from what those of the loop come from."""
        return self.feeder is not None and self.feeder() is loader or \
            self.dataset == id(getattr(loader, "_dataset", getattr(loader, "dataset", loader)))

    def leave(self, loader):
        """No batch of it is to come: one that is not trained on is not left open for what follows the loop."""
        if (self.stepped or self.is_batch) and self.feeder is not None and self.feeder() is loader:
            self.close()

    def _lose(self, reference):
        """The iterator is gone, and with it the loop over it; but not where each batch is the first one of its own."""
        if self.feeder is reference:
            self.feeder = None
            if self.stepped or self.is_batch and not self.is_first:
                self.close()

    def close(self):
        self.is_batch = self.stepped = False
        _pause(thread.state)
        if self.range is not None and _library:
            _library.nvtally_pytorch_end(self.range)
            self.range = None

    def end(self, optimizer):
        """A step was made: of the one that ends iterations, or of another."""
        mine = self.optimizer and self.optimizer()
        if mine is None or mine is not optimizer and self._has_another_turn(optimizer):
            self.optimizer = weakref.ref(optimizer)
        elif mine is not optimizer:
            self.others[id(optimizer)] = weakref.ref(optimizer)
            return
        if self.others:
            self.others.clear()
        self.is_batch = False
        self.stepped = self.range is not None

    def _has_another_turn(self, optimizer):
        """Optimizers that take turns, as a GAN's do, step once each; one that steps again has taken over."""
        other = self.others.get(id(optimizer))
        return other is not None and other() is optimizer


_iteration = Iteration()


def is_last(iterator):
    """Whether it has no more batches, as far as it knows: one that has no length finds out by asking for one more."""
    try:
        return iterator._num_yielded >= len(iterator)
    except Exception:
        return False


def begin():
    state = thread.state
    (state.iteration or _iteration).begin(state)


def is_to_evaluate(iteration, loader):
    """Whether batches of an iterator, or of a loader, are evaluated: gradients are not taken, or the model is not in the mode
    of training. But it may be left in that until the next batch to train on is there."""
    model = learner and learner()
    return not may_learn() or model is not None and not getattr(model, "training", True) \
        and not iteration.is_fed_by(loader)


def wait(loader):
    """A batch is asked for: by an iteration, or by an evaluation."""
    state = thread.state
    iteration = state.iteration or _iteration
    if is_to_evaluate(iteration, loader):
        evaluate(loader)
    else:
        iteration.begin(state, loader)


def iterate(loader):
    """An iterator of a loader is to be made, which may start workers."""
    if Iteration.may_end and is_to_evaluate(thread.state.iteration or _iteration, loader):
        evaluate()


def leave(loader):
    """No batch of it is to come."""
    state = thread.state
    if state.loader is not None and state.loader() is loader:
        _lost(state.loader)
    (state.iteration or _iteration).leave(loader)


def forked():
    """What is under way ends in the parent; a range of the child's may have the same number."""
    state = thread.state
    for iteration in (state.iteration, _iteration):
        if iteration is not None:
            iteration.range = iteration.feeder = None
            iteration.stepped = iteration.is_batch = False
    state.gap = state.evaluation = False
    state.loader = None


def begin_step(state, optimizer):
    iteration = state.iteration or _iteration
    if state.evaluation:
        _end_evaluation(state)
    if iteration.stepped:
        _pause(state)
        if iteration.optimizer is not None and iteration.optimizer() is optimizer:
            iteration.close()  # nothing of its own came before it


def end_step(state, optimizer):
    """A thread that trains beside another one has its own from the first step on, with what it has begun."""
    iteration, ident = state.iteration or _iteration, threading.get_ident()
    state.steps += 1
    if iteration.trainer is None:
        iteration.trainer = ident
    elif iteration.trainer != ident:
        iteration = state.iteration = Iteration()
        iteration.trainer = ident
        if _iteration.beginner == ident and not _iteration.stepped:
            iteration.range, _iteration.range = _iteration.range, None
    iteration.end(optimizer)
    return iteration.stepped and not (state.gap or state.evaluation) and _is_outermost(state)


def skip_step(optimizer):
    """A step that was not made."""
    end_step(thread.state, optimizer)
    _resume(thread.state)


def new_optimizer():
    Iteration.may_end = True
    iteration = thread.state.iteration or _iteration
    if iteration.stepped:
        iteration.close()


def step_ranges():
    """What pushes a range, and what ends a step's: it begins the range `between steps` where that comes."""
    turn, gap = _library.nvtally_pytorch_turn, _gap_name

    def end(state, optimizer):
        if end_step(state, optimizer):
            state.gap = True
            turn(gap)
        else:
            _pop()

    return _push, end


def ended():
    """The process ends by itself: when a loop did whose last iteration is still open is not known any more."""
    _end_evaluation(thread.state)
    if Iteration.may_end:
        _library.nvtally_pytorch_mark(_names["loop ended"])
