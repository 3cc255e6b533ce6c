#include "label_placement.h"

#include <math.h>

#include "../lib/count_of.h"
#include "../lib/text.h"

/* DejaVu Sans at 12 px, and between a name and what is beside it. */
#define CHAR   7.3
#define HEIGHT 14.0
#define GAP    3.0

/* A name that seems to be another point's is worse than any other place. */
#define NEAR      5.0 /* px */
#define NEAR_COST 60.0

struct box {
    double left, right, top, bottom;
};

static struct box box_at(double left, double middle, double width)
{
    return (struct box){left, left + width, middle - HEIGHT / 2, middle + HEIGHT / 2};
}

static int overlap(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Whether a line goes through a box. */
static int crosses(const struct box *box, double x, double y, double to_x, double to_y)
{
    enum { STEPS = 24 };
    for (int i = 0; i <= STEPS; i++) {
        const double at_x = x + (to_x - x) * i / STEPS, at_y = y + (to_y - y) * i / STEPS;
        if (at_x > box->left && at_x < box->right && at_y > box->top && at_y < box->bottom)
            return 1;
    }
    return 0;
}

static double within(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static double width_of(const struct nvt_point_label *point)
{
    return CHAR * (double)nvt_text_width(point->text);
}

static struct box box_of_mark(const struct nvt_point_label *point)
{
    return (struct box){point->x - point->radius, point->x + point->radius,
                        point->y - point->radius, point->y + point->radius};
}

struct panel {
    const struct nvt_point_label *points;
    size_t count;
    const struct nvt_line_point *lines;
    size_t line_count;
    double width, height;
};

/* How bad a place of a point's name is, of which a line may go there; INFINITY: there is no room. */
static double cost_of(const struct panel *panel, const struct box *box,
                      const struct nvt_point_label *point, int has_line)
{
    double cost = 0;
    if (box->left < 0 || box->right > panel->width || box->top < 0 || box->bottom > panel->height)
        return INFINITY;
    for (size_t i = 0; i < panel->count; i++) {
        const struct nvt_point_label *other = &panel->points[i];
        const struct box mark = box_of_mark(other),
                         text = box_at(other->left, other->middle, width_of(other));
        const struct box around = {mark.left - NEAR, mark.right + NEAR, mark.top, mark.bottom};
        if (overlap(box, &mark) || (other->is_placed && overlap(box, &text)))
            return INFINITY;
        if (other != point && overlap(box, &around))
            cost += NEAR_COST;
        if (other->is_placed && other->is_far &&
            crosses(box, other->edge_x, other->edge_y, other->end_x, other->end_y))
            return INFINITY;
        if (other->is_placed && has_line &&
            crosses(&text, point->x, point->y, within(point->x, box->left, box->right),
                    within(point->y, box->top + 2, box->bottom - 2)))
            return INFINITY;
    }
    for (size_t i = 0; i < panel->line_count; i++)
        if (panel->lines[i].x > box->left && panel->lines[i].x < box->right &&
            panel->lines[i].y > box->top && panel->lines[i].y < box->bottom)
            return INFINITY;
    return cost;
}

/* The places around a point, the nearest first: beside, above, below, at the corners; then farther away. */
static void place(const struct panel *panel, struct nvt_point_label *point)
{
    static const struct {
        double x, y; /* -1: before or above, 0: centred, 1: behind or below */
    } around[] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}};
    enum { AROUND = NVT_COUNT_OF(around), RINGS = 5 };
    const double width = width_of(point);
    double best = INFINITY;
    for (int ring = 0; ring < RINGS; ring++)
        for (int i = 0; i < AROUND; i++) {
            const int is_corner = around[i].x != 0 && around[i].y != 0;
            const double away = point->radius * (is_corner ? 0.7 : 1) + GAP + 6 * ring;
            const double left = point->x + around[i].x * away - width * (1 - around[i].x) / 2;
            const double middle = point->y + around[i].y * (away + (is_corner ? 2 : HEIGHT / 2));
            const struct box box = box_at(left, middle, width);
            const double cost = cost_of(panel, &box, point, ring > 0) + AROUND * ring + i;
            if (cost < best) {
                best = cost;
                point->left = left;
                point->middle = middle;
                point->is_far = ring > 0;
                point->align = (int)around[i].x;
                point->anchor = left + width * (1 - around[i].x) / 2;
            }
        }
    point->is_placed = best < INFINITY;
}

/* The line to a name that is far: to the nearest place of its box. */
static void join(struct nvt_point_label *point)
{
    const struct box box = box_at(point->left, point->middle, width_of(point));
    point->end_x = within(point->x, box.left, box.right);
    point->end_y = within(point->y, box.top + 2, box.bottom - 2);
    const double x = point->end_x - point->x, y = point->end_y - point->y;
    const double away = fmax(hypot(x, y), point->radius);
    point->edge_x = point->x + x * point->radius / away;
    point->edge_y = point->y + y * point->radius / away;
}

/* The heaviest that was not tried, NULL: there is none. A point that was tried has a middle. */
static struct nvt_point_label *next_of(struct nvt_point_label *points, size_t count)
{
    struct nvt_point_label *next = NULL;
    for (size_t i = 0; i < count; i++)
        if (*points[i].text && isnan(points[i].middle) &&
            (!next || points[i].weight > next->weight))
            next = &points[i];
    return next;
}

size_t nvt_place_labels(struct nvt_point_label *points, size_t count,
                        const struct nvt_line_point *lines, size_t line_count, double width,
                        double height)
{
    const struct panel panel = {points, count, lines, line_count, width, height};
    size_t left_out = 0;
    for (size_t i = 0; i < count; i++) {
        points[i].is_placed = points[i].is_far = 0;
        points[i].left = points[i].middle = NAN;
    }
    for (struct nvt_point_label *next; (next = next_of(points, count));) {
        next->left = next->middle = 0;
        place(&panel, next);
        if (next->is_placed)
            join(next);
        left_out += !next->is_placed;
    }
    return left_out;
}
