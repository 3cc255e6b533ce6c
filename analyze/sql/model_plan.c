/* How a statement finds rows of a table of the model, and in which order they come: SQLite's xBestIndex. */
#ifdef HAVE_SQLITE
#include <string.h>

#include "model_vtab.h"
#include "sorted.h"

static int is_time(const struct nvt_shown_table *shown, int column)
{
    return column >= 0 && shown->columns[column].kind == NVT_SHOWN_STORED &&
           shown->layout->times != NVT_TIMELESS &&
           shown->columns[column].stored == shown->layout->start;
}

static int is_id(const struct nvt_shown_table *shown, int column)
{
    return column < 0 || shown->columns[column].kind == NVT_SHOWN_ID;
}

static int is_bound(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
           op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
           op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* Rows that have one value of a column, as far as can be said without looking. */
static double rows_of_value(const struct nvt_model_vtab *table, int column, double rows)
{
    const struct nvt_shown_column *what = &table->shown->columns[column];
    if (!strcmp(what->name, "correlation") || (what->target == NVT_TABLE_apis))
        return 2;
    if (what->target != NVT_TABLE_COUNT) {
        const int64_t targets =
            nvt_model_rows(&table->sql->model, &nvt_shown_tables()[what->target]);
        return rows / (double)(targets > 0 ? targets : 1) + 1;
    }
    return rows / 20 + 1;
}

/* The equality that leaves the fewest rows, or -1. */
static int best_value(const struct nvt_model_vtab *table, sqlite3_index_info *info, double rows,
                      double *left)
{
    int best = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *each = &info->aConstraint[i];
        if (!each->usable || each->op != SQLITE_INDEX_CONSTRAINT_EQ || each->iColumn < 0 ||
            is_id(table->shown, each->iColumn) || is_time(table->shown, each->iColumn) ||
            !nvt_model_can_find(table->shown, (uint32_t)each->iColumn) ||
            strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        const double count = rows_of_value(table, each->iColumn, rows);
        if (best < 0 || count < *left) {
            best = i;
            *left = count;
        }
    }
    return best;
}

struct plan {
    /* pairs: enum nvt_plan_use and the operator, or a column */
    char text[2 * (16 + NVT_SORTED_MOST) + 1];
    int count;
    double rows, cost;
    int is_unique;
};

static void use(struct plan *plan, sqlite3_index_info *info, int constraint, enum nvt_plan_use how)
{
    if (plan->count == 16)
        return;
    plan->text[2 * plan->count] = (char)how;
    plan->text[2 * plan->count + 1] = (char)(info->aConstraint[constraint].op + '0');
    info->aConstraintUsage[constraint].argvIndex = ++plan->count;
}

#if SQLITE_VERSION_NUMBER >= 3038000
/* Whether an equality finds the rows for which it holds and no others, whatever its value is: SQLite need not look again. What
 * comes to xFilter is not yet of the column's type: 1.0 or '1' for 1 (take_whole). */
static int is_exact(const struct nvt_shown_table *shown, sqlite3_index_info *info, int constraint)
{
    const struct nvt_shown_column *column = &shown->columns[info->aConstraint[constraint].iColumn];
    sqlite3_value *value;
    return sqlite3_vtab_rhs_value(info, constraint, &value) == SQLITE_OK &&
           sqlite3_value_type(value) == SQLITE_INTEGER && column->unknown == NVT_UNKNOWN_NEVER &&
           shown->layout->columns[column->stored].meaning == NVT_MEANS_NUMBER;
}

/* Whether the same rows are chosen each time: this is no table that rows are looked up in for those of another one. All rows are
 * wanted, too: of a few of them SQLite sorts better. */
static int is_fixed(sqlite3_index_info *info)
{
    for (int i = 0; i < info->nConstraint; i++) {
        sqlite3_value *value;
        if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT ||
            (info->aConstraint[i].usable && sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK))
            return 0;
    }
    return 1;
}
#else
static int is_exact(const struct nvt_shown_table *shown, sqlite3_index_info *info, int constraint)
{
    (void)shown;
    (void)info;
    (void)constraint;
    return 0;
}

static int is_fixed(sqlite3_index_info *info)
{
    (void)info;
    return 0;
}
#endif

/* Rows come by id, and those of one trace by time, too; or they are sorted. */
static void sort(struct plan *plan, const struct nvt_model_vtab *table, sqlite3_index_info *info)
{
    char *next = plan->text + 2 * (size_t)plan->count;
    const struct sqlite3_index_orderby *by = info->aOrderBy;
    info->orderByConsumed =
        info->nOrderBy == 1 && !by[0].desc &&
        (is_id(table->shown, by[0].iColumn) ||
         (table->sql->model.count == 1 && is_time(table->shown, by[0].iColumn)));
    if (info->orderByConsumed || !info->nOrderBy || info->nOrderBy > NVT_SORTED_MOST ||
        !is_fixed(info))
        return;
    for (int i = 0; i < info->nOrderBy; i++) {
        const int column = by[i].iColumn < 0 ? 0 : by[i].iColumn; /* the id is the first */
        if (!nvt_can_sort(table->shown, (uint32_t)column)) {
            plan->text[2 * plan->count] = 0;
            return;
        }
        *next++ = by[i].desc ? NVT_SORT_DESCENDING : NVT_SORT_ASCENDING;
        *next++ = (char)(column + '0');
    }
    info->orderByConsumed = 1;
}

int nvt_model_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct nvt_model_vtab *table = (struct nvt_model_vtab *)base;
    const double rows = (double)nvt_model_rows(&table->sql->model, table->shown);
    struct plan plan = {.rows = rows + 1};
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *each = &info->aConstraint[i];
        const int of_id = is_id(table->shown, each->iColumn);
        if (!each->usable || !is_bound(each->op) ||
            (!of_id && !is_time(table->shown, each->iColumn)))
            continue;
        const int is_equal = each->op == SQLITE_INDEX_CONSTRAINT_EQ;
        use(&plan, info, i, of_id ? NVT_USE_ID : NVT_USE_TIME);
        plan.is_unique |= of_id && is_equal;
        plan.rows = of_id && is_equal ? 1 : is_equal ? 2 : plan.rows / 8 + 1;
    }
    double left = 0;
    const int value = best_value(table, info, rows, &left);
    if (value >= 0 && !plan.is_unique) {
        const int is_alone = is_exact(table->shown, info, value);
        use(&plan, info, value, is_alone ? NVT_USE_VALUE_ALONE : NVT_USE_VALUE);
        info->aConstraintUsage[value].omit =
            is_alone && info->aConstraintUsage[value].argvIndex > 0;
        /* The column stands behind the pairs. */
        info->idxNum = info->aConstraint[value].iColumn;
        plan.rows = left < plan.rows ? left : plan.rows;
    }
    sort(&plan, table, info);
    info->idxStr = sqlite3_mprintf("%s", plan.text);
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)plan.rows;
    info->estimatedCost = plan.rows + 20;
    info->idxFlags = plan.is_unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return SQLITE_OK;
}
#endif
