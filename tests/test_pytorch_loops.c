/*
 * record --pytorch: where iterations, phases, evaluations and checkpoints of a loop begin and end, however it is
 * written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "pytorch_kit.h"
#include "record_kit.h"

static const char loops[] = "import threading, torch\n"
                            "class Net(torch.nn.Module):\n"
                            "    def forward(self, x):\n"
                            "        return x\n"
                            "class Step(torch.optim.Optimizer):\n"
                            "    def step(self):\n"
                            "        pass\n"
                            "net, first, second = Net(), Step([]), Step([])\n"
                            "def train(*optimizers):\n"
                            "    for optimizer in optimizers:\n"
                            "        torch.autograd.backward(net(1))\n"
                            "        optimizer.step()\n";

/* Record those definitions and a script that uses them, and read the trace. */
static struct nvt_trace *loop(const char *script)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s", loops, script);
    struct cli_result result = pytorch_record(pytorch_stand_in, "-c", text);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return recorded_trace();
}

static uint32_t unfinished(const struct nvt_trace *trace)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        count += (trace->ranges.flags[i] & NVT_RANGE_UNCLOSED) != 0;
    return count;
}

/* One that takes over while the first one lives ends iterations, but for its first step; of two that take turns, one
 * does. */
static void optimizers_that_follow_each_other(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = loop("train(*[first] * 5, *[second] * 20, *[first] * 2)\n");
    pytorch_expect_count(trace, "iteration", 5 + 19 + 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    trace = loop("train(*[first, second] * 7)\n");
    /* the last step of the second one is in an eighth */
    pytorch_expect_count(trace, "iteration", 7);
    assert_int_equal(unfinished(trace), 1);
    nvt_trace_free(trace);
}

/* A second thread that trains has iterations of its own, the first of which may be lost; a helper's calls belong to
 * the iteration of the loop that it helps. */
static void loops_of_several_threads(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    static const char together[] = "turn = [threading.Semaphore(1), threading.Semaphore(0)]\n"
                                   "def one(me, optimizer):\n"
                                   "    for i in range(20):\n"
                                   "        for part in (lambda: net(1), optimizer.step):\n"
                                   "            turn[me].acquire()\n"
                                   "            part()\n"
                                   "            turn[1 - me].release()\n"
                                   "other = threading.Thread(target=one, args=(1, second))\n"
                                   "other.start()\n"
                                   "one(0, first)\n"
                                   "other.join()\n";
    struct nvt_trace *trace = loop(together);
    pytorch_expect_count(trace, "forward", 2 * 20);
    pytorch_expect_count(trace, "iteration", 20 + 19);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    trace = loop("def apart(call):\n"
                 "    thread = threading.Thread(target=call)\n"
                 "    thread.start()\n"
                 "    thread.join()\n"
                 "train(first)\n"
                 "for i in range(3):\n"
                 "    apart(lambda: net(1))\n"
                 "    train(first)\n"
                 "apart(lambda: train(*[second] * 5))\n");
    pytorch_expect_count(trace, "iteration", 1 + 3 + 5);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

static int is_in_iteration(const struct nvt_trace *trace, const struct nvt_ranges *ranges,
                           uint32_t range)
{
    for (uint32_t i = 0; i < ranges->count; i++)
        if (!strcmp(nvt_name(trace, ranges->name[i]), "iteration") &&
            ranges->start[i] <= ranges->start[range] && ranges->end[i] >= ranges->end[range])
            return 1;
    return 0;
}

/* That many calls of the module Aside are in iterations, and that many in none. */
static void expect_asides(const struct nvt_trace *trace, uint32_t within, uint32_t outside)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count[2] = {0};
    for (uint32_t i = 0; i < ranges->count; i++)
        if (!strcmp(nvt_name(trace, ranges->name[i]), "Aside"))
            count[is_in_iteration(trace, ranges, i)]++;
    assert_int_equal(count[1], within);
    assert_int_equal(count[0], outside);
}

/* A batch that is fetched and not trained on has an iteration that ends with its loop, also where workers stay; what
 * comes then is in none. Loops that take each batch from an iterator of its own are as others. */
static void loops_that_are_left(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    static const char definitions[] = "class Aside(Net):\n"
                                      "    pass\n"
                                      "aside = Aside()\n"
                                      "def left(loader):\n"
                                      "    for x in loader:\n"
                                      "        if x == 3:\n"
                                      "            break\n"
                                      "        train(first)\n"
                                      "    torch.learns = False\n"
                                      "    aside(1)\n"
                                      "    torch.learns = True\n";
    char text[2048];
    snprintf(text, sizeof(text),
             "%sleft(torch.utils.data.DataLoader([1, 2, 3, 4]))\ntrain(first)\n", definitions);
    struct nvt_trace *trace = loop(text);
    pytorch_expect_count(trace, "iteration", 2 + 1 + 1);
    expect_asides(trace, 0, 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    snprintf(text, sizeof(text),
             "%sloader = torch.utils.data.DataLoader([1, 2, 3, 4], persistent_workers=True)\n"
             "left(loader)\nleft(loader)\nlist(loader)\n",
             definitions);
    trace = loop(text);
    pytorch_expect_count(trace, "iteration", 2 * 3 + 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
    trace = loop("loader = torch.utils.data.DataLoader([1, 2, 3, 4])\n"
                 "next(iter(loader))\n"
                 "class Aside(Net):\n"
                 "    pass\n"
                 "torch.learns = False\n"
                 "Aside()(1)\n"
                 "torch.learns = True\n"
                 "for i in range(4):\n"
                 "    next(iter(loader))\n"
                 "    train(first)\n");
    /* no step was made when the first one's iterator ended */
    pytorch_expect_count(trace, "iteration", 1 + 4 + 1);
    expect_asides(trace, 0, 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* A module that is put into a model which was called before has its path, too; those that it only uses have none. */
static void modules_that_come_later(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = loop("class Passing(Net):\n"
                                   "    pass\n"
                                   "class Model(Net):\n"
                                   "    def forward(self, x):\n"
                                   "        return self.head(Passing()(x))\n"
                                   "model = Model()\n"
                                   "class Block(Net):\n"
                                   "    def __init__(self):\n"
                                   "        self.inner = Net()\n"
                                   "    def forward(self, x):\n"
                                   "        return self.inner(x)\n"
                                   "class Outer(Net):\n"
                                   "    def forward(self, x):\n"
                                   "        return self.head(x)\n"
                                   "outer = Outer()\n"
                                   "for outer.head in (Net(), Block(), Block()):\n"
                                   "    outer(1)\n"
                                   "model.head = Net()\n"
                                   "model(model(1))\n");
    pytorch_expect_count(trace, "Outer", 3);
    pytorch_expect_count(trace, "head (Net)", 1 + 2);
    pytorch_expect_count(trace, "head (Block)", 2);
    pytorch_expect_count(trace, "head.inner (Net)", 2);
    pytorch_expect_count(trace, "Passing", 2);
    nvt_trace_free(trace);
}

/* A model that is evaluated while gradients are taken begins no iteration, unless it is never in the mode of training; nor do
 * batches for that. */
static void evaluation_with_gradients(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = loop("class Aside(Net):\n"
                                   "    pass\n"
                                   "net = Aside()\n"
                                   "net.training = False\n"
                                   "train(first)\n"
                                   "net.training = True\n"
                                   "train(first)\n"
                                   "net.training = False\n"
                                   "torch.nn.MSELoss()(net(1), 1)\n"
                                   "for x in torch.utils.data.DataLoader([1, 2, 3]):\n"
                                   "    torch.nn.MSELoss()(net(x), 1)\n"
                                   "net.training = True\n"
                                   "train(first)\n");
    pytorch_expect_count(trace, "iteration", 3);
    /* Both lie behind the second step. The loader's batches have one for them all. */
    pytorch_expect_count(trace, "evaluation", 1 + 1);
    expect_asides(trace, 3 + 1 + 3, 0);
    nvt_trace_free(trace);
}

/* Of a stream, it is not known that there is no other batch: the wait for none has an iteration, too, which ends there. */
static void streams_of_batches(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = loop("class Stream:\n"
                                   "    def __iter__(self):\n"
                                   "        return iter([1, 2, 3])\n"
                                   "for x in torch.utils.data.DataLoader(Stream()):\n"
                                   "    train(first)\n"
                                   "class Aside(Net):\n"
                                   "    pass\n"
                                   "torch.learns = False\n"
                                   "Aside()(1)\n");
    pytorch_expect_count(trace, "data", 3 + 1);
    pytorch_expect_count(trace, "iteration", 3 + 1);
    expect_asides(trace, 0, 1);
    uint32_t iteration = recorded_range(trace, "iteration"), data = recorded_range(trace, "data");
    assert_true(trace->ranges.start[iteration] <= trace->ranges.start[data]);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* A child that is forked within an iteration has its own; the parent's goes on. */
static void a_fork_within_an_iteration(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = loop("import os\n"
                                   "net(1)\n"
                                   "child = os.fork()\n"
                                   "if child:\n"
                                   "    os.waitpid(child, 0)\n"
                                   "    first.step()\n"
                                   "train(first, first)\n");
    pytorch_expect_count(trace, "forward", 1 + 2 + 2);
    pytorch_expect_count(trace, "iteration", 3 + 2);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* What a thread calls while another one is in a backward pass is a forward pass; what autograd's own threads call is
 * none. A PyTorch that cannot tell them apart has none during any backward pass. */
static void passes_of_several_threads(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    static const char threads[] = "def apart(call):\n"
                                  "    thread = threading.Thread(target=call)\n"
                                  "    thread.start()\n"
                                  "    thread.join()\n"
                                  "def autograd():\n"
                                  "    torch._C.thread.task = 0\n"
                                  "    net(1)\n"
                                  "def again():\n"
                                  "    net(1)\n"
                                  "    apart(lambda: net(1))\n"
                                  "    apart(autograd)\n"
                                  "torch.autograd.backward(1, again=again)\n";
    struct nvt_trace *trace = loop(threads);
    pytorch_expect_count(trace, "Net", 3);
    pytorch_expect_count(trace, "forward", 1);
    nvt_trace_free(trace);
    char text[2048];
    snprintf(text, sizeof(text),
             "import sys\nsys.modules['nvtally_pytorch']._graph_task = None\n%s", threads);
    trace = loop(text);
    pytorch_expect_count(trace, "Net", 3);
    pytorch_expect_count(trace, "forward", 0);
    nvt_trace_free(trace);
}

/* How many ranges of a name begin within one of another name, both of PyTorch. */
static uint32_t count_within(const struct nvt_trace *trace, const char *name, const char *outer)
{
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        for (uint32_t k = 0; k < ranges->count; k++)
            if (!strcmp(nvt_name(trace, ranges->name[i]), name) &&
                !strcmp(nvt_name(trace, ranges->name[k]), outer) &&
                ranges->start[k] <= ranges->start[i] && ranges->end[k] > ranges->start[i]) {
                count++;
                break;
            }
    return count;
}

/* Whatever saves is a checkpoint, once where one function calls another; not where a dataset saves what it has read. */
static void checkpoints_behind_the_step(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace =
        loop("import torch.distributed.checkpoint as dcp\n"
             "from safetensors.torch import save_file\n"
             "import torch.utils.data._utils.fetch as fetching\n"
             "write = lambda state: None\n"
             "def fail(state):\n"
             "    raise OSError('no space')\n"
             "class Samples:\n"
             "    def __getitem__(self, index):\n"
             "        torch.save(1, write)\n"
             "        return 1\n"
             "fetcher = fetching._MapDatasetFetcher(Samples(), sum)\n"
             "for save in (torch.save, dcp.save, dcp.async_save, save_file):\n"
             "    train(first)\n"
             "    save(1, write)\n"
             "    fetcher.fetch([0, 1])\n"
             "try:\n"
             "    torch.save(1, fail)\n"
             "except OSError as error:\n"
             "    assert str(error) == 'no space'\n"
             "train(first)\n");
    pytorch_expect_count(trace, "iteration", 5);
    pytorch_expect_count(trace, "checkpoint", 4 + 1);
    assert_int_equal(count_within(trace, "checkpoint", "iteration"), 5);
    assert_int_equal(count_within(trace, "checkpoint", "between steps"), 0);
    pytorch_expect_count(trace, "between steps", 2 + 2 + 2 + 3 + 1);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

static const char evaluates[] = "class Model(Net):\n"
                                "    pass\n"
                                "model = Model()\n"
                                "def learn():\n"
                                "    torch.autograd.backward(model(1))\n"
                                "    first.step()\n"
                                "Loader = torch.utils.data.DataLoader\n"
                                "items, others = [1, 2, 3, 4], [5, 6, 7]\n";

/* The same with a model that learns and one that is not trained. */
static struct nvt_trace *evaluation(const char *script)
{
    char text[4096];
    snprintf(text, sizeof(text), "%s%s", evaluates, script);
    return loop(text);
}

/* A loop over a loader is one evaluation with its data, wherever no_grad() stands and whatever mode the model is in; the
 * iteration that it is in goes on. */
static void evaluations_behind_the_step(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    static const char *const ways[] = {"    model.eval()\n"
                                       "    with torch.no_grad():\n"
                                       "        for y in Loader(others):\n"
                                       "            model(y)\n",
                                       "    model.eval()\n"
                                       "    for y in Loader(others):\n"
                                       "        with torch.no_grad():\n"
                                       "            model(y)\n",
                                       "    for y in Loader(others):\n"
                                       "        with torch.inference_mode():\n"
                                       "            model(y)\n",
                                       "    model.eval()\n"
                                       "    for y in Loader(others):\n"
                                       "        model(y)\n",
                                       "    with torch.set_grad_enabled(False):\n"
                                       "        for y in others:\n"
                                       "            model(y)\n",
                                       "    @torch.no_grad()\n"
                                       "    def estimate():\n"
                                       "        for y in Loader(others):\n"
                                       "            if y == 7:\n"
                                       "                break\n"
                                       "            model(y)\n"
                                       "        model(8)\n"
                                       "    estimate()\n"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        char script[1024];
        snprintf(script, sizeof(script),
                 "for x in Loader(items):\n    learn()\n%s    model.train()\n", ways[i]);
        struct nvt_trace *trace = evaluation(script);
        pytorch_expect_count(trace, "iteration", 4);
        pytorch_expect_count(trace, "evaluation", 4);
        assert_int_equal(count_within(trace, "evaluation", "iteration"), 4);
        assert_int_equal(count_within(trace, "evaluation", "between steps"), 0);
        assert_int_equal(count_within(trace, "forward", "evaluation"), 4 * 3);
        assert_int_equal(unfinished(trace), 0);
        nvt_trace_free(trace);
    }
}

/* Between epochs, an evaluation is in no iteration: the loop over the batches is over. It takes in no batch of the next one,
 * even if the model is left in the mode of evaluation until that is there. */
static void evaluations_between_epochs(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = evaluation("def evaluate():\n"
                                         "    model.eval()\n"
                                         "    with torch.no_grad():\n"
                                         "        for y in Loader(others):\n"
                                         "            model(y)\n"
                                         "evaluate()\n"
                                         "for epoch in range(3):\n"
                                         "    for x in Loader(items):\n"
                                         "        model.train()\n"
                                         "        learn()\n"
                                         "    evaluate()\n");
    pytorch_expect_count(trace, "iteration", 3 * 4);
    pytorch_expect_count(trace, "evaluation", 1 + 3);
    assert_int_equal(count_within(trace, "evaluation", "iteration"), 0);
    assert_int_equal(count_within(trace, "data", "iteration"), 3 * 5); /* the wait for none, too */
    assert_int_equal(count_within(trace, "data", "evaluation"), 4 * 4);
    assert_int_equal(unfinished(trace), 0);
    nvt_trace_free(trace);
}

/* Passes without gradient that training itself needs, before its step or by a model that is never trained, are none; nor is
 * what a program does that has no optimizer. */
static void passes_that_evaluate_nothing(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = evaluation("target = Net()\n"
                                         "for x in items:\n"
                                         "    with torch.no_grad():\n"
                                         "        target(x)\n"
                                         "    learn()\n"
                                         "for x in Loader(items):\n"
                                         "    with torch.no_grad():\n"
                                         "        model(x)\n"
                                         "    learn()\n");
    pytorch_expect_count(trace, "iteration", 8);
    pytorch_expect_count(trace, "evaluation", 0);
    nvt_trace_free(trace);
    struct cli_result result = pytorch_record(pytorch_stand_in, "-c",
                                              "import torch\n"
                                              "class Net(torch.nn.Module):\n"
                                              "    def forward(self, x):\n"
                                              "        return x\n"
                                              "net = Net().eval()\n"
                                              "with torch.no_grad():\n"
                                              "    for x in torch.utils.data.DataLoader([1, 2]):\n"
                                              "        net(x)\n");
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    trace = recorded_trace();
    pytorch_expect_count(trace, "forward", 2);
    pytorch_expect_count(trace, "evaluation", 0);
    nvt_trace_free(trace);
}

/* The last iteration of a loop without a loader ends with its step, if nothing tells where the loop does: not with the
 * process. One that a killed process was in stays open. */
static void the_last_iteration(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = loop("import time\ntrain(*[first] * 3)\ntime.sleep(0.2)\n");
    pytorch_expect_count(trace, "iteration", 3);
    assert_int_equal(unfinished(trace), 0);
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        assert_true(trace->ranges.end[i] - trace->ranges.start[i] < 150000000);
    nvt_trace_free(trace);
    trace = loop("train(*[first] * 3)\nThird = Step([])\nnet(1)\ntrain(first)\n");
    /* Another optimizer is made where a loop has ended. */
    pytorch_expect_count(trace, "iteration", 3 + 1);
    nvt_trace_free(trace);
    trace = loop("import os\ntrain(*[first] * 3)\nos._exit(0)\n");
    pytorch_expect_count(trace, "iteration", 2);
    assert_int_equal(unfinished(trace), 2);
    nvt_trace_free(trace);
}

/* A step that a GradScaler leaves out ends the iteration all the same, and one that it makes ends one. */
static void steps_that_are_left_out(void **state)
{
    (void)state;
    if (!pytorch_has_python())
        skip();
    struct nvt_trace *trace = loop("scaler = torch.amp.GradScaler()\n"
                                   "for i in range(8):\n"
                                   "    scaler.finite = i % 4 > 0\n"
                                   "    torch.autograd.backward(net(1))\n"
                                   "    scaler.step(first)\n"
                                   "    scaler.update()\n");
    pytorch_expect_count(trace, "optimizer", 6);
    pytorch_expect_count(trace, "iteration", 8);
    nvt_trace_free(trace);
    trace = loop("for i in range(8):\n" /* accumulated gradients: one step for two passes */
                 "    torch.autograd.backward(net(1))\n"
                 "    if i % 2:\n"
                 "        first.step()\n");
    pytorch_expect_count(trace, "iteration", 4);
    pytorch_expect_count(trace, "between steps", 4);
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_that_follow_each_other),
        cmocka_unit_test(passes_of_several_threads),
        cmocka_unit_test(loops_of_several_threads),
        cmocka_unit_test(loops_that_are_left),
        cmocka_unit_test(streams_of_batches),
        cmocka_unit_test(evaluation_with_gradients),
        cmocka_unit_test(a_fork_within_an_iteration),
        cmocka_unit_test(modules_that_come_later),
        cmocka_unit_test(checkpoints_behind_the_step),
        cmocka_unit_test(evaluations_behind_the_step),
        cmocka_unit_test(evaluations_between_epochs),
        cmocka_unit_test(passes_that_evaluate_nothing),
        cmocka_unit_test(the_last_iteration),
        cmocka_unit_test(steps_that_are_left_out),
    };
    return cmocka_run_group_tests(tests, pytorch_find_stand_in, recorded_tear_down);
}
