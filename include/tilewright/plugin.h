/* Interface of plugins for the program `tilewright`. A plugin is a shared library with search
 * strategies and schedule templates, loaded by `--plugin FILE`. Plain C99; docs/plugins.md is the
 * manual, docs/examples/plugin/ has one example of each.
 *
 * Rules for all functions and structs:
 * - The library exports tw_plugin_main. The returned struct and all it points to stay valid and
 *   unchanged until the process ends.
 * - Structs begin with struct_size, set by the side that creates them (sizeof). Members are only
 *   added at their ends, so each side reads only the members that both have.
 * - Texts are UTF-8 and end in a zero byte. Text arguments of a function are valid until it
 *   returns; those of a tw_search_space are valid as long as the strategy.
 * - Functions of a template may be called by several threads at once. Calls of one strategy never
 *   overlap.
 * - The same arguments give the same results in every process: searches are replayed, and kernels
 *   are built in other processes than the one that proposed them.
 * - No function throws an exception. */

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

/** Version of this interface; raised when the meaning of a member changes. */
#define TW_PLUGIN_VERSION 1u

/** Returned for "no" and for failure; also the value of invalid handles. */
#define TW_PLUGIN_NONE (-1)

/* ---- Strategies: proposing configs */

/** Knob of a space and its values as JSON texts: "[4,8]", "16", "true". */
typedef struct tw_plugin_knob {
  uint32_t struct_size;
  int32_t value_count;
  const char* name;
  const char* const* values;
} tw_plugin_knob;
/* Older name of tw_plugin_knob, kept for source compatibility. tilewright.h has another structure
 * named tw_knob, so the name is defined only if tilewright.h is not included, before or after. */
#ifndef TILEWRIGHT_TILEWRIGHT_H_
#define TW_PLUGIN_HAS_OLD_KNOB 1
#define tw_knob tw_plugin_knob
#endif

/** Configs of one template: index = d0 + n0*(d1 + n1*(d2 + ...)), where knob i has its value number
 *  di of ni. */
typedef struct tw_config_space {
  uint32_t struct_size;
  int32_t knob_count;
  const char* template_key;
  int64_t size;
  const tw_plugin_knob* knobs;
} tw_config_space;

/** Search space of one task: the configs of every template that serves it. */
typedef struct tw_search_space {
  uint32_t struct_size;
  int32_t space_count;
  const char* workload; /* key: "dense(float32[1,512]MK,float32[1000,512]NK)->float32" */
  const char* target;   /* "llvm -mcpu=znver4" */
  const tw_config_space* spaces;
} tw_search_space;

/** Config: one of the spaces, and an index of it. */
typedef struct tw_point {
  int32_t space;
  int64_t index;
} tw_point;

/** Result of one config. */
typedef struct tw_result {
  tw_point point;
  int32_t ok;   /* 1: verified and timed; 0: rejected, or it failed */
  double value; /* seconds (or the target's metric) if ok, else 0 */
} tw_result;

/** Search strategy. Known and default configs are measured before the first call of `ask`, and
 *  `tell` reports them too. Points that a static check rejects use no trial: `tell` reports them
 *  with ok = 0, and `ask` is called again. */
typedef struct tw_strategy {
  uint32_t struct_size;
  const char* key;     /* stored in jobs; "vendor/name", where vendor is the plugin's name */
  const char* summary; /* one line */
  /** Starts a search whose randomness depends only on `seed`. Returns null on failure. */
  void* (*create)(const tw_search_space* space, uint64_t seed);
  /** Proposes up to `count` points that were not proposed before. Returns their number; 0 if there
   *  are no more, which ends the search; TW_PLUGIN_NONE on failure, which ends the job. */
  int32_t (*ask)(void* search, tw_point* points, int32_t count);
  void (*tell)(void* search, const tw_result* results, int32_t count);
  void (*destroy)(void* search);
} tw_strategy;

/* ---- Templates: scheduling an operator's loops */

typedef struct tw_space tw_space;       /* space under construction */
typedef struct tw_config tw_config;     /* config of a space */
typedef struct tw_schedule tw_schedule; /* schedule under construction */
typedef int32_t tw_stage, tw_loop;      /* of one tw_schedule */

/** Memory of a stage's result. */
enum { TW_MEMORY_GLOBAL = 0, TW_MEMORY_LOCAL = 1, TW_MEMORY_SHARED = 2 };
/** Hardware index that a GPU loop is bound to. */
enum {
  TW_BLOCK_X = 0,
  TW_BLOCK_Y = 1,
  TW_BLOCK_Z = 2,
  TW_THREAD_X = 3,
  TW_THREAD_Y = 4,
  TW_THREAD_Z = 5,
  TW_VIRTUAL_THREAD = 6
};

/** Functions that a template may call. An impossible request is rejected: after the first rejected
 *  call on a schedule, space or config, further calls do nothing, and the outcome of the config is
 *  `invalid` with that reason. So a template needs to check return values only of queries.
 *
 *  A schedule begins with the stages of the operator: "pad" if there is padding, "reduce" (the sums
 *  of products), and "output" if there is an epilogue. See docs/templates.md. */
typedef struct tw_host {
  uint32_t struct_size;

  /* Knobs of a space, in the order of the index's digits. */
  /** Adds the splits of `extent` into `parts` factors (at most 4), outermost first, all but the
   *  first factor at most max_factor; 0: no limit. */
  void (*knob_split)(tw_space* space, const char* name, int64_t extent, int32_t parts,
                     int64_t max_factor);
  /** Adds a choice of `count` integers. */
  void (*knob_integer)(tw_space* space, const char* name, const int64_t* values, int32_t count);
  /** Adds a choice of `count` listed splits into `parts` factors each, stored one after the
   *  other. */
  void (*knob_factors)(tw_space* space, const char* name, const int64_t* factors, int32_t parts,
                       int32_t count);
  /** Adds a choice of `count` orders of `length` items: permutations of 0 to length - 1. */
  void (*knob_order)(tw_space* space, const char* name, const int64_t* orders, int32_t length,
                     int32_t count);
  /** Adds a choice of `count` words. */
  void (*knob_word)(tw_space* space, const char* name, const char* const* words, int32_t count);

  /* The values of a config. Rejected if there is no such knob of that kind. */
  int64_t (*integer)(tw_config* config, const char* name);
  /** Returns item `i` of a split or an order. */
  int64_t (*item)(tw_config* config, const char* name, int32_t i);
  const char* (*word)(tw_config* config, const char* name);

  /* Queries. They return TW_PLUGIN_NONE for a missing item; that is not a rejection. */
  tw_stage (*stage)(tw_schedule* schedule, const char* name);
  int32_t (*spatial_count)(tw_schedule* schedule, tw_stage stage);
  int32_t (*reduction_count)(tw_schedule* schedule, tw_stage stage);
  tw_loop (*spatial)(tw_schedule* schedule, tw_stage stage, int32_t axis);
  tw_loop (*reduction)(tw_schedule* schedule, tw_stage stage, int32_t axis);
  int64_t (*extent)(tw_schedule* schedule, tw_loop loop);
  /** Returns loop `i` of the stage's current loops, from the outermost. */
  tw_loop (*leaf)(tw_schedule* schedule, tw_stage stage, int32_t i);

  /** Rejects the config with a reason. */
  void (*refuse)(tw_schedule* schedule, const char* reason);
  /** Sets other layouts of data, packed weight and result than the workload's, such as "NCHW16c"
   *  and "OIHW16i16o"; null: the workload's. Call it before any other change of the schedule. */
  void (*layouts)(tw_schedule* schedule, const char* data, const char* weight, const char* output);

  /* Loops of one stage. */
  /** outer, inner: may be null. peel: generates separate code for a shorter last iteration. */
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

/** Task that a template schedules. */
typedef struct tw_task {
  uint32_t struct_size;
  int32_t threads;      /* threads that a kernel may use */
  const char* workload; /* its key */
  const char* target;
  const char* epilogue; /* "add(channel:float32);relu"; "" while it is unknown */
} tw_task;

typedef struct tw_template {
  uint32_t struct_size;
  int32_t version;    /* from 1; raised when the meaning or the order of a knob's values changes */
  const char* key;    /* stored in records, never reused for another template; "vendor/name" */
  const char* device; /* "llvm" or "cuda" */
  /** Returns null if the template serves the task, else the reason why not. */
  const char* (*refuses)(const tw_task* task);
  /** Adds the knobs. schedule: the operator's loops, read only. */
  void (*define_space)(const tw_task* task, tw_space* space, tw_schedule* schedule,
                       const tw_host* host);
  /** Schedules the loops as the config states. */
  void (*apply)(const tw_task* task, tw_config* config, tw_schedule* schedule, const tw_host* host);
  /** Returns the default index in a space of `size` for an untuned operator; null: 0. */
  int64_t (*default_index)(const tw_task* task, int64_t size);
} tw_template;

/* ---- The plugin */

typedef struct tw_plugin {
  uint32_t struct_size;
  uint32_t version;                     /* TW_PLUGIN_VERSION */
  const char* name;                     /* prefix of every key: letters, digits, '_' and '-' */
  const tw_strategy* const* strategies; /* ends with null; may be null */
  const tw_template* const* templates;  /* ends with null; may be null */
} tw_plugin;

/** Entry point of a plugin. Called once in each process that loads it. */
TW_PLUGIN_EXPORT const tw_plugin* tw_plugin_main(void);

#ifdef __cplusplus
}
#endif

#endif
