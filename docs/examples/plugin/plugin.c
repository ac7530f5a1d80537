/* A plugin of Tilewright with a strategy and a template: docs/plugins.md.
 *   cc -O2 -shared -fPIC -I include docs/examples/plugin/plugin.c -o acme.so
 *   tilewright tune 'conv2d(...)' --plugin ./acme.so --strategy acme/stride ... */

#include <stdlib.h>
#include <string.h>

#include "tilewright/plugin.h"

/* ---- acme/stride: walks over each space in steps that meet every config once. */

typedef struct walk {
  int32_t spaces;
  int64_t *sizes, *steps, *places, *left; /* of each space */
  int32_t turn;                           /* the space that is next */
} walk;

static int64_t gcd(int64_t a, int64_t b) { return b == 0 ? a : gcd(b, a % b); }

static void walk_destroy(void* search) {
  walk* w = search;
  free(w->sizes);
  free(w);
}

static void* walk_create(const tw_search_space* space, uint64_t seed) {
  walk* w = calloc(1, sizeof(walk));
  if (w == NULL) return NULL;
  w->spaces = space->space_count;
  w->sizes = calloc((size_t)w->spaces * 4, sizeof(int64_t));
  if (w->sizes == NULL) {
    free(w);
    return NULL;
  }
  w->steps = w->sizes + w->spaces;
  w->places = w->steps + w->spaces;
  w->left = w->places + w->spaces;
  for (int32_t i = 0; i < w->spaces; ++i) {
    const int64_t size = space->spaces[i].size;
    int64_t step = (int64_t)(0.618 * (double)size) | 1;
    while (gcd(step, size) != 1) ++step;
    w->sizes[i] = w->left[i] = size;
    w->steps[i] = step % size;
    w->places[i] = (int64_t)(seed % (uint64_t)size);
  }
  return w;
}

static int32_t walk_ask(void* search, tw_point* points, int32_t count) {
  walk* w = search;
  int32_t given = 0, idle = 0;
  while (given < count && idle < w->spaces) {
    const int32_t i = w->turn;
    w->turn = (w->turn + 1) % w->spaces;
    if (w->left[i] == 0) {
      ++idle;
      continue;
    }
    idle = 0;
    --w->left[i];
    points[given].space = i;
    points[given++].index = w->places[i];
    w->places[i] = (w->places[i] + w->steps[i]) % w->sizes[i];
  }
  return given;
}

/* The steps follow from the seed alone; a cleverer strategy learns here. */
static void walk_tell(void* search, const tw_result* results, int32_t count) {
  (void)search, (void)results, (void)count;
}

static const tw_strategy stride = {
    sizeof(tw_strategy), "acme/stride", "golden steps through spaces", walk_create, walk_ask,
    walk_tell,           walk_destroy};

/* ---- acme/conv_rows: a row of results of several channels at once, in vectors along the row. */

static const char* rows_refuses(const tw_task* task) {
  if (strncmp(task->workload, "conv2d(float32", 14) != 0) return "only conv2d of float32";
  return strstr(task->workload, "]NCHW,") == NULL ? "only data in NCHW" : NULL;
}

static void rows_space(const tw_task* task, tw_space* space, tw_schedule* s, const tw_host* tw) {
  static const int64_t unrolls[] = {0, 1};
  const tw_stage reduce = tw->stage(s, "reduce");
  (void)task;
  tw->knob_split(space, "tile_k", tw->extent(s, tw->spatial(s, reduce, 1)), 2, 8);
  tw->knob_split(space, "tile_w", tw->extent(s, tw->spatial(s, reduce, 3)), 2, 64);
  tw->knob_integer(space, "unroll_kernel", unrolls, 2);
}

static void rows_apply(const tw_task* task, tw_config* config, tw_schedule* s, const tw_host* tw) {
  tw_stage sum = tw->stage(s, "reduce"), result = tw->stage(s, "output");
  const tw_stage pad = tw->stage(s, "pad");
  tw_loop k, w, k_inner, w_inner, order[8];
  if (result == TW_PLUGIN_NONE) { /* no epilogue: the sums get a copy of their own */
    result = sum;
    sum = tw->cache_write(s, sum, TW_MEMORY_LOCAL);
  } else {
    tw->set_memory(s, sum, TW_MEMORY_LOCAL);
  }
  if (pad != TW_PLUGIN_NONE) tw->compute_inline(s, pad);

  tw->split(s, result, tw->spatial(s, result, 1), tw->item(config, "tile_k", 1), 1, &k, &k_inner);
  tw->split(s, result, tw->spatial(s, result, 3), tw->item(config, "tile_w", 1), 1, &w, &w_inner);
  order[0] = tw->spatial(s, result, 0);
  order[1] = k;
  order[2] = tw->spatial(s, result, 2);
  order[3] = w;
  order[4] = k_inner;
  order[5] = w_inner;
  tw->reorder(s, result, order, 6);
  if (task->threads > 1) {
    w = tw->fuse(s, result, tw->fuse(s, result, tw->fuse(s, result, order[0], k), order[2]), w);
    tw->parallel(s, result, w);
  }
  tw->vectorize(s, result, w_inner);

  tw->compute_at(s, sum, result, w);
  order[0] = tw->reduction(s, sum, 0);
  order[1] = tw->reduction(s, sum, 1);
  order[2] = tw->reduction(s, sum, 2);
  order[3] = tw->spatial(s, sum, 1);
  order[4] = tw->spatial(s, sum, 3);
  tw->reorder(s, sum, order, 5);
  tw->unroll(s, sum, order[3]);
  tw->vectorize(s, sum, order[4]);
  if (tw->integer(config, "unroll_kernel") != 0) tw->unroll(s, sum, order[2]);
}

static const tw_template conv_rows = {sizeof(tw_template), 1,          "acme/conv_rows", "llvm",
                                      rows_refuses,        rows_space, rows_apply,       NULL};

/* ---- The plugin */

static const tw_strategy* const strategies[] = {&stride, NULL};
static const tw_template* const templates[] = {&conv_rows, NULL};
static const tw_plugin plugin = {sizeof(tw_plugin), TW_PLUGIN_VERSION, "acme", strategies,
                                 templates};

TW_PLUGIN_EXPORT const tw_plugin* tw_plugin_main(void) { return &plugin; }
