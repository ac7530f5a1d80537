/* What a plugin of the program `tilewright` looks like: a shared library with search strategies and
 * schedule templates of your own, loaded by `--plugin FILE`. Plain C99; docs/plugins.md has the
 * manual, docs/examples/plugin/ one of each.
 *
 * Rules that hold for everything here:
 *  - The library exports tw_plugin_main. What that returns, and all it points to, stays where it is
 *    until the process ends.
 *  - Structs begin with struct_size, set by whoever made them (sizeof): members are only ever added
 *    at their ends, so each side reads no more than the other one has.
 *  - Texts are UTF-8 and end in a zero byte. Those that a function is given are valid until it
 *    returns; those of a tw_search_space as long as the strategy.
 *  - Functions of a template may be called by several threads at once; those of one strategy are
 *    called one after the other.
 *  - The same arguments give the same results, in every process: searches are replayed, and kernels
 *    are built in other processes than they were proposed in.
 *  - No function lets an exception out. */

#ifndef TILEWRIGHT_PLUGIN_H_
#define TILEWRIGHT_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TW_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define TW_PLUGIN_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface; raised when a member changes its meaning. */
#define TW_PLUGIN_VERSION 1u

/** Returned for "no", or "that failed"; handles of nothing have it, too. */
#define TW_PLUGIN_NONE (-1)

/* ---- Strategies: which configs are tried next */

/** A knob of a space and its values as JSON texts: "[4,8]", "16", "true". */
typedef struct tw_plugin_knob {
  uint32_t struct_size;
  int32_t value_count;
  const char* name;
  const char* const* values;
} tw_plugin_knob;
/* Until 1.0 it was called tw_knob, as another structure of tilewright.h is. Sources of that time go
 * on compiling: the name still means this one where tilewright.h is not included, before or behind.
 */
#ifndef TILEWRIGHT_TILEWRIGHT_H_
#define TW_PLUGIN_HAS_OLD_KNOB 1
#define tw_knob tw_plugin_knob
#endif

/** The configs of one template: index = d0 + n0*(d1 + n1*(d2 + ...)), where knob i has its value
 *  number di of ni. */
typedef struct tw_config_space {
  uint32_t struct_size;
  int32_t knob_count;
  const char* template_key;
  int64_t size;
  const tw_plugin_knob* knobs;
} tw_config_space;

/** What is searched for one task: the configs of every template that serves it. */
typedef struct tw_search_space {
  uint32_t struct_size;
  int32_t space_count;
  const char* workload; /* key: "dense(float32[1,512]MK,float32[1000,512]NK)->float32" */
  const char* target;   /* "llvm -mcpu=znver4" */
  const tw_config_space* spaces;
} tw_search_space;

/** A config: one of the spaces, and an index of it. */
typedef struct tw_point {
  int32_t space;
  int64_t index;
} tw_point;

/** What became of one. */
typedef struct tw_result {
  tw_point point;
  int32_t ok;   /* 1: verified and timed; 0: refused, or it failed */
  double value; /* seconds (or what the target's metric is) if it is ok, else 0 */
} tw_result;

/** A strategy. Known and default configs are tried before it is asked, and it is told of those,
 * too. Points that a static check refuses cost no trial: it is told of them (ok = 0) and asked
 * again. */
typedef struct tw_strategy {
  uint32_t struct_size;
  const char* key;     /* stored in jobs; "vendor/name", where vendor is the plugin's name */
  const char* summary; /* one line */
  /** A new search, with everything random from `seed`. Null: it cannot be begun. */
  void* (*create)(const tw_search_space* space, uint64_t seed);
  /** Up to `count` points never returned before. returns how many; 0: there are no more, which ends
   *  the search; TW_PLUGIN_NONE: it failed, which ends the job. */
  int32_t (*ask)(void* search, tw_point* points, int32_t count);
  void (*tell)(void* search, const tw_result* results, int32_t count);
  void (*destroy)(void* search);
} tw_strategy;

/* ---- Templates: how an operator's loops are arranged */

typedef struct tw_space tw_space;       /* being defined */
typedef struct tw_config tw_config;     /* one point of a space */
typedef struct tw_schedule tw_schedule; /* loops, being arranged */
typedef int32_t tw_stage, tw_loop;      /* of one tw_schedule */

/** Where a stage's result is. */
enum { TW_MEMORY_GLOBAL = 0, TW_MEMORY_LOCAL = 1, TW_MEMORY_SHARED = 2 };
/** What a loop of a GPU's kernel is bound to. */
enum {
  TW_BLOCK_X = 0,
  TW_BLOCK_Y = 1,
  TW_BLOCK_Z = 2,
  TW_THREAD_X = 3,
  TW_THREAD_Y = 4,
  TW_THREAD_Z = 5,
  TW_VIRTUAL_THREAD = 6
};

/** What a template calls. What cannot be done is refused, not done wrongly: after the first refusal
 *  of a schedule, space or config everything more does nothing, and the config is an `invalid` one
 *  with that reason. So a template need not look at what these return but where it asks something.
 *
 *  A schedule begins with the stages of the operator: "pad" if there is padding, "reduce" (the sums
 *  of products), "output" if there is anything behind those (the epilogue). docs/templates.md. */
typedef struct tw_host {
  uint32_t struct_size;

  /* Knobs of a space, in the order of the index's digits. */
  /** The ways to cut `extent` in `parts` factors (at most 4), outermost first, none but the first
   *  above max_factor; 0: any. */
  void (*knob_split)(tw_space* space, const char* name, int64_t extent, int32_t parts,
                     int64_t max_factor);
  /** One of `count` integers. */
  void (*knob_integer)(tw_space* space, const char* name, const int64_t* values, int32_t count);
  /** One of `count` splits of your own in `parts` factors each, one behind the other. */
  void (*knob_factors)(tw_space* space, const char* name, const int64_t* factors, int32_t parts,
                       int32_t count);
  /** One of `count` orders of `length` things: permutations of 0 to length - 1. */
  void (*knob_order)(tw_space* space, const char* name, const int64_t* orders, int32_t length,
                     int32_t count);
  /** One of `count` words. */
  void (*knob_word)(tw_space* space, const char* name, const char* const* words, int32_t count);

  /* The values of a config. They are refused where there is no such knob of that kind. */
  int64_t (*integer)(tw_config* config, const char* name);
  /** Number `i` of a split or an order. */
  int64_t (*item)(tw_config* config, const char* name, int32_t i);
  const char* (*word)(tw_config* config, const char* name);

  /* What is there. TW_PLUGIN_NONE where it is not, which is no refusal. */
  tw_stage (*stage)(tw_schedule* schedule, const char* name);
  int32_t (*spatial_count)(tw_schedule* schedule, tw_stage stage);
  int32_t (*reduction_count)(tw_schedule* schedule, tw_stage stage);
  tw_loop (*spatial)(tw_schedule* schedule, tw_stage stage, int32_t axis);
  tw_loop (*reduction)(tw_schedule* schedule, tw_stage stage, int32_t axis);
  int64_t (*extent)(tw_schedule* schedule, tw_loop loop);
  /** Loop number `i` of those that the stage has now, from the outermost. */
  tw_loop (*leaf)(tw_schedule* schedule, tw_stage stage, int32_t i);

  /** Says no for a reason of your own. */
  void (*refuse)(tw_schedule* schedule, const char* reason);
  /** Other layouts of data, packed weight and result than the workload's, such as "NCHW16c" and
   *  "OIHW16i16o"; null: the workload's. Before everything else that is done to the schedule. */
  void (*layouts)(tw_schedule* schedule, const char* data, const char* weight, const char* output);

  /* Loops of one stage. */
  /** outer, inner: may be null. peel: the last run, where it is shorter, gets code of its own. */
  void (*split)(tw_schedule* schedule, tw_stage stage, tw_loop loop, int64_t factor, int32_t peel,
                tw_loop* outer, tw_loop* inner);
  tw_loop (*fuse)(tw_schedule* schedule, tw_stage stage, tw_loop outer, tw_loop inner);
  void (*reorder)(tw_schedule* schedule, tw_stage stage, const tw_loop* order, int32_t count);
  void (*parallel)(tw_schedule* schedule, tw_stage stage, tw_loop loop);
  void (*vectorize)(tw_schedule* schedule, tw_stage stage, tw_loop loop);
  void (*unroll)(tw_schedule* schedule, tw_stage stage, tw_loop loop);
  void (*bind)(tw_schedule* schedule, tw_stage stage, tw_loop loop, int32_t thread);
  /** "auto_unroll_max_step", "unroll_explicit". */
  void (*pragma)(tw_schedule* schedule, tw_stage stage, tw_loop loop, const char* name,
                 int64_t value);
  void (*prefetch)(tw_schedule* schedule, tw_stage stage, const char* buffer, tw_loop loop,
                   int64_t distance);
  void (*tensorize)(tw_schedule* schedule, tw_stage stage, tw_loop loop, const char* intrinsic);

  /* Stages. */
  void (*compute_at)(tw_schedule* schedule, tw_stage stage, tw_stage consumer, tw_loop loop);
  void (*compute_inline)(tw_schedule* schedule, tw_stage stage);
  tw_stage (*cache_write)(tw_schedule* schedule, tw_stage stage, int32_t memory);
  tw_stage (*cache_read)(tw_schedule* schedule, const char* buffer, int32_t memory,
                         tw_stage reader);
  tw_stage (*rfactor)(tw_schedule* schedule, tw_stage stage, int32_t reduction, int64_t factor);
  void (*set_memory)(tw_schedule* schedule, tw_stage stage, int32_t memory);
  void (*skip_zero_taps)(tw_schedule* schedule, tw_stage stage);
  void (*double_buffer)(tw_schedule* schedule, tw_stage stage);
  void (*pipeline)(tw_schedule* schedule, tw_stage stage, int32_t copies);
  void (*pad_rows)(tw_schedule* schedule, tw_stage stage, int64_t rows, int64_t elements);
} tw_host;

/** What a template is asked about. */
typedef struct tw_task {
  uint32_t struct_size;
  int32_t threads;      /* a kernel may use */
  const char* workload; /* its key */
  const char* target;
  const char* epilogue; /* "add(channel:float32);relu"; "" while there is none to be known */
} tw_task;

typedef struct tw_template {
  uint32_t struct_size;
  int32_t version;    /* from 1; raised when the meaning or the order of a knob's values changes */
  const char* key;    /* stored in records, never used for another one; "vendor/name" */
  const char* device; /* "llvm" or "cuda" */
  /** Null if it serves the task, else why not. */
  const char* (*refuses)(const tw_task* task);
  /** Adds the knobs. schedule: the operator's loops, to be looked at only. */
  void (*define_space)(const tw_task* task, tw_space* space, tw_schedule* schedule,
                       const tw_host* host);
  /** Arranges the loops as the config says. */
  void (*apply)(const tw_task* task, tw_config* config, tw_schedule* schedule, const tw_host* host);
  /** Which index of a space of `size` an operator gets that nobody has tuned; null: 0. */
  int64_t (*default_index)(const tw_task* task, int64_t size);
} tw_template;

/* ---- The plugin */

typedef struct tw_plugin {
  uint32_t struct_size;
  uint32_t version;                     /* TW_PLUGIN_VERSION */
  const char* name;                     /* begins every key: letters, digits, '_' and '-' */
  const tw_strategy* const* strategies; /* ends with null; may be null */
  const tw_template* const* templates;  /* ends with null; may be null */
} tw_plugin;

/** What a plugin exports. Called once, in each process that loads it. */
TW_PLUGIN_EXPORT const tw_plugin* tw_plugin_main(void);

#ifdef __cplusplus
}
#endif

#endif
