/* Tilewright's C interface: the best known schedule of an operator, asked for while a compiler
 * runs, and running a compiled model. Plain C99; docs/c-abi.md has the manual and docs/examples/
 * two programs.
 *
 * Rules that hold for every function:
 *  - No function exits, prints, reads the environment or lets an exception out.
 *  - Functions that can fail return a tw_code; with a tw_error they also say why. The text lives in
 *    the caller's struct, so threads cannot disturb each other. `error` may be null.
 *  - Objects are opaque. What a function creates has one free function, which takes null too. A
 *    string or array that a function returns belongs to the object it was asked of and is valid
 *    until that is freed; the caller frees nothing else.
 *  - Structs begin with struct_size, set by the caller (the TW_..._INIT macros do): a library that
 *    is newer or older than the header fills and reads no more than that.
 *  - A tw_catalog may be used by any number of threads at once. tw_target and tw_answer never
 *    change, so they may too. A tw_operator or tw_model is for one thread at a time.
 *  - A process may fork() while its threads use catalogs: the fork waits for calls that are in
 *    progress, and parent and child both use what there was, and make more. (A fork from within a
 *    call, as a signal handler's would be, and vfork are not for children that call.)
 *  - Texts are UTF-8 and end in a zero byte. Times are seconds, sizes bytes. */

#ifndef TILEWRIGHT_TILEWRIGHT_H_
#define TILEWRIGHT_TILEWRIGHT_H_

#include <stddef.h>
#include <stdint.h>

/* plugin.h, included before, had this name once. */
#ifdef TW_PLUGIN_HAS_OLD_KNOB
#undef TW_PLUGIN_HAS_OLD_KNOB
#undef tw_knob
#endif

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
#define TW_NOEXCEPT noexcept
extern "C" {
#else
#define TW_NOEXCEPT
#endif

/* ---- Versions.
 * The interface only grows: functions, bits, codes and struct members are added, never changed. */

/** Version of the interface that this header describes. */
#define TW_API_VERSION 1u
/** Version of the interface that the loaded library has; at least TW_API_VERSION, else the library
 *  is older than the header and lacks functions. */
TW_API uint32_t tw_api_version(void) TW_NOEXCEPT;
/** Version of the library, such as "1.0.0". */
TW_API const char* tw_version(void) TW_NOEXCEPT;

/* ---- Errors */

/** What the caller does next. Expect codes to be added. */
typedef int32_t tw_code;
enum {
  TW_OK = 0,
  TW_INVALID_ARGUMENT = 1, /* fix the input */
  TW_NOT_FOUND = 2,        /* fall back */
  TW_UNSUPPORTED = 3,      /* choose another way */
  TW_CORRUPT = 4,          /* stop, keep the file */
  TW_UNAVAILABLE = 5,      /* retry */
  TW_INTERNAL = 6,         /* report it */
  TW_NO_MEMORY = 7,
  TW_TOO_SMALL = 8 /* the buffer; the size it needs is said */
};
/** "ok", "invalid argument", ...; "unknown code" for any other number. */
TW_API const char* tw_code_name(tw_code code) TW_NOEXCEPT;

/** Where a function says why it failed: `tw_error error = TW_ERROR_INIT;`. */
typedef struct tw_error {
  uint32_t struct_size;
  tw_code code;
  char message[1016]; /* one line, cut if it is longer; "" after success */
} tw_error;
#define TW_ERROR_INIT \
  { sizeof(tw_error), TW_OK, "" }

/* ---- Targets */

/** What code is made for, and the device it will run on. */
typedef struct tw_target tw_target;

/** target: as in `tilewright query --target`, such as "llvm -mcpu=znver4"; null: this machine.
 *  device: the fingerprint that records carry, one line of JSON; null: this machine's CPU.
 *  Errors: TW_INVALID_ARGUMENT with what was not understood. */
TW_API tw_code tw_target_create(const char* target, const char* device, tw_target** out,
                                tw_error* error) TW_NOEXCEPT;
TW_API void tw_target_free(tw_target* target) TW_NOEXCEPT;
/** Canonical text of the target; what records are matched by. */
TW_API const char* tw_target_text(const tw_target* target) TW_NOEXCEPT;
/** The device's fingerprint as JSON. */
TW_API const char* tw_target_device(const tw_target* target) TW_NOEXCEPT;

/* ---- Catalogs */

/** Stores and packages, asked in the order in which they were added, and a cache of their answers.
 *  A commit to a store is seen by the next query. A file that another one has taken the place of is
 *  noticed within 0.1 s, or by tw_catalog_refresh at once. */
typedef struct tw_catalog tw_catalog;

TW_API tw_code tw_catalog_create(tw_catalog** out, tw_error* error) TW_NOEXCEPT;
/** No other thread may be using it. Answers stay valid. */
TW_API void tw_catalog_free(tw_catalog* catalog) TW_NOEXCEPT;
/** Adds a record store, opened for reading.
 *  Errors: TW_NOT_FOUND; TW_CORRUPT if it is no store or a newer one than the library knows;
 *  TW_UNSUPPORTED for an older one (opening it for writing once migrates it); TW_UNAVAILABLE. */
TW_API tw_code tw_catalog_add_store(tw_catalog* catalog, const char* path,
                                    tw_error* error) TW_NOEXCEPT;
/** How a package's file is trusted. */
typedef struct tw_package_options {
  uint32_t struct_size;
  uint32_t allow_unsigned;  /* 1: take packages without a signature; never those of unknown keys */
  const char* trusted_keys; /* path of a file of public keys; null: none */
} tw_package_options;
#define TW_PACKAGE_OPTIONS_INIT \
  { sizeof(tw_package_options), 0, 0 }
/** Adds a package's file (.twpkg): read, checked and unpacked into memory once; the file is not
 *  looked at again. options: null for TW_PACKAGE_OPTIONS_INIT, which trusts nobody.
 *  Errors: TW_NOT_FOUND; TW_CORRUPT if a bit of it is not as it was built; TW_UNSUPPORTED if it is
 *  unsigned, signed by an unknown key, or newer than the library; TW_INVALID_ARGUMENT. */
TW_API tw_code tw_catalog_add_package(tw_catalog* catalog, const char* path,
                                      const tw_package_options* options,
                                      tw_error* error) TW_NOEXCEPT;
/** Adds every package installed in a folder, such as "/usr/share/tilewright/packages", in the order
 *  in which `tilewright package list` has them. They were checked when they were installed. A
 *  folder that is not there holds none. added: how many; may be null. Those that cannot be used are
 *  told by tw_catalog_problem.
 *  Errors: TW_INVALID_ARGUMENT if the path is not absolute or no folder. */
TW_API tw_code tw_catalog_add_installed(tw_catalog* catalog, const char* folder, size_t* added,
                                        tw_error* error) TW_NOEXCEPT;
/** A package that was left out, and why; null if there is no such index. */
TW_API const char* tw_catalog_problem(const tw_catalog* catalog, size_t index) TW_NOEXCEPT;
/** Adds an AutoTVM log or a TopHub package ("cuda_v0.10.log"), imported into memory once. Only
 *  queries by TW_RULE_AUTOTVM look at it. (A store into which `tilewright records import` has put
 *  logs serves them too, and opens faster.)
 *  Errors: TW_NOT_FOUND; TW_INVALID_ARGUMENT if no line of it is a record. */
TW_API tw_code tw_catalog_add_log(tw_catalog* catalog, const char* path,
                                  tw_error* error) TW_NOEXCEPT;
/** Gives the catalog a cost model, made by `tilewright train`, for TW_ACCEPT_MODEL. Once only.
 *  Errors: TW_NOT_FOUND; TW_INVALID_ARGUMENT if it is no model, one of other features than this
 *  library computes, or the second one. */
TW_API tw_code tw_catalog_set_model(tw_catalog* catalog, const char* path,
                                    tw_error* error) TW_NOEXCEPT;
/** Stores and packages added so far. */
TW_API size_t tw_catalog_source_count(const tw_catalog* catalog) TW_NOEXCEPT;
/** Path of one, as it was given; null if there is no such index. */
TW_API const char* tw_catalog_source_path(const tw_catalog* catalog, size_t index) TW_NOEXCEPT;
/** Looks at every file now and drops answers that may have changed. */
TW_API tw_code tw_catalog_refresh(tw_catalog* catalog, tw_error* error) TW_NOEXCEPT;

/* ---- Operators.
 * A description of an operator for callers that have neither a key nor a tuple. */

typedef struct tw_operator tw_operator;

/** name: "conv2d" (any groups), "conv2d_transpose", "dense", "batch_matmul"; also
 *  "depthwise_conv2d" and "group_conv2d", which are conv2d with groups.
 *  Errors: TW_INVALID_ARGUMENT for another name. */
TW_API tw_code tw_operator_create(const char* name, tw_operator** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_operator_free(tw_operator* op) TW_NOEXCEPT;
/** Adds the next tensor: data first, then weight. dtype: "float32", "int8", "uint8", ...
 *  Errors: TW_INVALID_ARGUMENT for a third tensor, an unknown dtype or a size below 1. */
TW_API tw_code tw_operator_add_tensor(tw_operator* op, const char* dtype, const int64_t* shape,
                                      size_t rank, tw_error* error) TW_NOEXCEPT;
/** Sets an attribute made of integers. Those not set have the value in brackets:
 *  "strides" [1 1] and "dilation" [1 1]: one or two values; "padding" [0 0 0 0]: one, two (rows,
 *  columns) or four (top, left, bottom, right); "output_padding" [0 0]: one or two; "groups" [1].
 *  "reduced_range_weights" [0]: 1 says of a conv2d or dense of 8-bit data that its weights are
 * constants of int8 from -64 to 64, all of them; on CPUs with AVX2 and without VNNI such a layer is
 * a task of its own (",w64" in the key) and asked for as that. Errors: TW_INVALID_ARGUMENT for an
 * unknown name, a wrong number of values or another value than 0 and 1 of "reduced_range_weights".
 */
TW_API tw_code tw_operator_set_integers(tw_operator* op, const char* name, const int64_t* values,
                                        size_t count, tw_error* error) TW_NOEXCEPT;
/** Sets an attribute that is a text: "data_layout" [NCHW], "kernel_layout" [OIHW, of
 *  conv2d_transpose IOHW], "out_dtype" [int32 for integers, else that of the data].
 *  Errors: TW_INVALID_ARGUMENT for an unknown name; layouts are checked when the operator is used.
 */
TW_API tw_code tw_operator_set_text(tw_operator* op, const char* name, const char* value,
                                    tw_error* error) TW_NOEXCEPT;
/** Writes the canonical key. buffer may be null: then only *needed is set (bytes, the zero byte
 *  included).
 *  Errors: TW_INVALID_ARGUMENT if shapes, types, layouts and attributes do not fit together;
 *  TW_TOO_SMALL, nothing written, *needed set. */
TW_API tw_code tw_operator_key(const tw_operator* op, char* buffer, size_t capacity, size_t* needed,
                               tw_error* error) TW_NOEXCEPT;

/* ---- Queries */

/** What an answer is, best first. */
typedef int32_t tw_kind;
enum {
  TW_KIND_HIT = 0,     /* measured: this workload, target and device class */
  TW_KIND_NEAR = 1,    /* measured: another device whose code runs here, or a similar workload */
  TW_KIND_MODEL = 2,   /* not measured: a cost model chose it */
  TW_KIND_DEFAULT = 3, /* not measured: what the template does when nothing is known */
  TW_KIND_MISS = 4     /* no config */
};
/** "hit", "near", "model", "default", "miss". */
TW_API const char* tw_kind_name(tw_kind kind) TW_NOEXCEPT;

/** How far down to go: the kinds a caller takes. Without a bit that kind is passed over. A query
 *  that ends at none of them is a miss, never something else. */
enum {
  TW_ACCEPT_HIT = 1,
  TW_ACCEPT_NEAR = 2,
  /** Needs tw_catalog_set_model. Without it a query with this bit fails with TW_UNSUPPORTED,
   *  whatever the stores hold: the caller learns at once, not with the first workload nobody
   *  measured. A choice takes a tenth of a second, and is then in the cache. */
  TW_ACCEPT_MODEL = 4,
  TW_ACCEPT_DEFAULT = 8,
  TW_ACCEPT_MEASURED = TW_ACCEPT_HIT | TW_ACCEPT_NEAR
};

/** How records are matched. */
enum {
  TW_RULE_TILEWRIGHT = 0, /* docs/records.md, "What is served" */
  TW_RULE_AUTOTVM = 1     /* as AutoTVM does, among imported records, which nobody verified here */
};

typedef struct tw_query_options {
  uint32_t struct_size;
  uint32_t accept; /* TW_ACCEPT_ bits, at least one */
  uint32_t rule;   /* TW_RULE_ */
} tw_query_options;
#define TW_QUERY_OPTIONS_INIT \
  { sizeof(tw_query_options), TW_ACCEPT_MEASURED, TW_RULE_TILEWRIGHT }

/** What a catalog says about a workload. Independent of the catalog once it is made. */
typedef struct tw_answer tw_answer;

/** Asks by canonical key, such as
 *  "conv2d(float32[1,3,224,224]NCHW,float32[64,3,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g1)->float32".
 *  options: null for TW_QUERY_OPTIONS_INIT. A miss is an answer, not an error.
 *  Errors: TW_INVALID_ARGUMENT with the position that was not understood; TW_UNSUPPORTED for a rule
 *  or kind this library cannot serve; TW_NOT_FOUND if a store's file has gone; TW_CORRUPT;
 *  TW_UNAVAILABLE. */
TW_API tw_code tw_query_key(tw_catalog* catalog, const tw_target* target, const char* key,
                            const tw_query_options* options, tw_answer** out,
                            tw_error* error) TW_NOEXCEPT;
/** Asks by the text of an AutoTVM workload, such as
 *  "('dense_nopack.x86', ('TENSOR', (1, 512), 'float32'), ('TENSOR', (1000, 512), 'float32'), None,
 *  'float32')". */
TW_API tw_code tw_query_tuple(tw_catalog* catalog, const tw_target* target, const char* tuple,
                              const tw_query_options* options, tw_answer** out,
                              tw_error* error) TW_NOEXCEPT;
/** Asks by description. */
TW_API tw_code tw_query_operator(tw_catalog* catalog, const tw_target* target,
                                 const tw_operator* op, const tw_query_options* options,
                                 tw_answer** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_answer_free(tw_answer* answer) TW_NOEXCEPT;

/* ---- Answers */

TW_API tw_kind tw_answer_kind(const tw_answer* answer) TW_NOEXCEPT;
/** Mean seconds of one run as measured; not a number where this workload was not (see the record of
 *  a near hit for what was measured instead). */
TW_API double tw_answer_cost_seconds(const tw_answer* answer) TW_NOEXCEPT;
/** How much slower than a config tuned for this very workload and device it may be: 1 for a hit,
 *  1.15 for "up to 15 % slower"; not a number where nothing is known. */
TW_API double tw_answer_expected_slowdown(const tw_answer* answer) TW_NOEXCEPT;
/** The workload asked about, as a canonical key; by TW_RULE_AUTOTVM the tuple, if there is no key.
 */
TW_API const char* tw_answer_workload(const tw_answer* answer) TW_NOEXCEPT;
/** The target asked about, canonical. */
TW_API const char* tw_answer_target(const tw_answer* answer) TW_NOEXCEPT;
/** One line for people: the rule and every field that decided. Never empty. */
TW_API const char* tw_answer_explanation(const tw_answer* answer) TW_NOEXCEPT;
/** What differs between what was asked and what was measured, one line each; as a rule nothing for
 * a hit. */
TW_API size_t tw_answer_difference_count(const tw_answer* answer) TW_NOEXCEPT;
/** Null if there is no such index. */
TW_API const char* tw_answer_difference(const tw_answer* answer, size_t index) TW_NOEXCEPT;
/** Schedule template of the config, such as "conv2d_NCHWc.x86"; "" for a miss. */
TW_API const char* tw_answer_template(const tw_answer* answer) TW_NOEXCEPT;
/** Version of the template: knobs mean the same as long as it is equal. 0 for a miss, and for an
 *  imported record of which no template of this library can make code. */
TW_API int32_t tw_answer_template_version(const tw_answer* answer) TW_NOEXCEPT;
/** Index of the config in the template's space, -1 if it has none. The knobs are what counts. */
TW_API int64_t tw_answer_config_index(const tw_answer* answer) TW_NOEXCEPT;
/** The config as JSON: {"index":188,"values":{"tile_ic":[1,64]}}; "" for a miss. */
TW_API const char* tw_answer_config(const tw_answer* answer) TW_NOEXCEPT;

/** Kinds of knobs, as in AutoTVM: sp, re, an, ot. */
enum {
  TW_KNOB_SPLIT = 0,    /* loop extents, outermost first */
  TW_KNOB_REORDER = 1,  /* item i: which axis is i-th from outside */
  TW_KNOB_ANNOTATE = 2, /* one word per axis */
  TW_KNOB_OTHER = 3     /* whatever the template says: a scalar, or a list */
};
/** Types of values. */
enum {
  TW_VALUE_INTEGERS = 0, /* integers[0..count) */
  TW_VALUE_STRINGS = 1,  /* strings[0..count) */
  TW_VALUE_INTEGER = 2,  /* integers[0] */
  TW_VALUE_BOOL = 3,     /* integers[0], 0 or 1 */
  TW_VALUE_STRING = 4    /* strings[0] */
};
typedef struct tw_knob {
  uint32_t struct_size;
  int32_t kind;       /* TW_KNOB_ */
  int32_t value_type; /* TW_VALUE_ */
  int32_t reserved;   /* 0 */
  const char* name;
  size_t count;               /* of integers or strings */
  const int64_t* integers;    /* null unless the type says so */
  const char* const* strings; /* null unless the type says so */
  const char* text;           /* the value as JSON */
} tw_knob;
#define TW_KNOB_INIT \
  { sizeof(tw_knob), 0, 0, 0, 0, 0, 0, 0, 0 }

/** Knobs of the config, in the template's order; 0 for a miss. */
TW_API size_t tw_answer_knob_count(const tw_answer* answer) TW_NOEXCEPT;
/** Errors: TW_INVALID_ARGUMENT if there is no such index. */
TW_API tw_code tw_answer_knob(const tw_answer* answer, size_t index, tw_knob* out,
                              tw_error* error) TW_NOEXCEPT;
/** Errors: TW_NOT_FOUND if the config has no knob of this name. */
TW_API tw_code tw_answer_find_knob(const tw_answer* answer, const char* name, tw_knob* out,
                                   tw_error* error) TW_NOEXCEPT;

/** Where an answer comes from. */
typedef struct tw_record {
  uint32_t struct_size;
  int32_t verified;     /* 1: its result was compared with the reference */
  const char* id;       /* 32 hexadecimal digits; the same in every store it is copied to */
  const char* source;   /* path of the store or package */
  const char* workload; /* what was measured: key, target, device (JSON), epilogue */
  const char* target;
  const char* device;
  const char* device_model; /* such as the CPU's name */
  const char* epilogue;     /* what it was fused with; "" for nothing */
  const char* metric;       /* unit of value and samples: "seconds", "cycles", ... */
  double value;             /* median over quiet moments */
  double noise;             /* relative half-width of its 95 % interval */
  double measured_unix_seconds;
  int32_t codegen_version;
  int32_t reserved; /* 0 */
  size_t sample_count;
  const double* samples; /* all, in order */
} tw_record;
#define TW_RECORD_INIT \
  { sizeof(tw_record), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Errors: TW_NOT_FOUND for an answer without a record (model, default, miss). */
TW_API tw_code tw_answer_record(const tw_answer* answer, tw_record* out,
                                tw_error* error) TW_NOEXCEPT;
/** The whole answer as one line of JSON, an element of what `tilewright query --json` lists.
 *  buffer may be null: then only *needed is set (bytes, the zero byte included).
 *  Errors: TW_TOO_SMALL, nothing written, *needed set. */
TW_API tw_code tw_answer_json(const tw_answer* answer, char* buffer, size_t capacity,
                              size_t* needed, tw_error* error) TW_NOEXCEPT;

/* ---- Compiled models.
 * Running what `tilewright compile` made. Opening a model runs code of it: open only what you
 * trust as you would a plug-in. */

typedef struct tw_model tw_model;

/** An input or output. Tensors are dense and row-major. */
typedef struct tw_tensor_info {
  uint32_t struct_size;
  uint32_t rank;
  const char* name;
  const char* dtype;
  const int64_t* shape; /* rank sizes */
  uint64_t bytes;
} tw_tensor_info;
#define TW_TENSOR_INFO_INIT \
  { sizeof(tw_tensor_info), 0, 0, 0, 0, 0 }

/** Memory of the caller, of any alignment (multiples of 64 save a copy). */
typedef struct tw_buffer {
  void* data;
  uint64_t bytes;
} tw_buffer;

/** Errors: TW_NOT_FOUND; TW_INVALID_ARGUMENT if it is no compiled model; TW_UNSUPPORTED if it was
 *  made by another version or for a CPU with features that this one lacks. */
TW_API tw_code tw_model_open(const char* path, tw_model** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_model_free(tw_model* model) TW_NOEXCEPT;
TW_API const char* tw_model_name(const tw_model* model) TW_NOEXCEPT;
TW_API const char* tw_model_target(const tw_model* model) TW_NOEXCEPT;
TW_API size_t tw_model_input_count(const tw_model* model) TW_NOEXCEPT;
TW_API size_t tw_model_output_count(const tw_model* model) TW_NOEXCEPT;
/** Errors: TW_INVALID_ARGUMENT if there is no such index. */
TW_API tw_code tw_model_input(const tw_model* model, size_t index, tw_tensor_info* out,
                              tw_error* error) TW_NOEXCEPT;
TW_API tw_code tw_model_output(const tw_model* model, size_t index, tw_tensor_info* out,
                               tw_error* error) TW_NOEXCEPT;
/** Threads of the runs to come, the calling one included.
 *  Errors: TW_INVALID_ARGUMENT below 1; TW_UNAVAILABLE if they cannot be started. */
TW_API tw_code tw_model_set_threads(tw_model* model, int32_t threads, tw_error* error) TW_NOEXCEPT;
/** Runs it once: one buffer per input and output, in order, exactly as large as they are.
 *  Errors: TW_INVALID_ARGUMENT naming the tensor; TW_NO_MEMORY; TW_UNAVAILABLE; TW_INTERNAL if an
 *  operator fails. */
TW_API tw_code tw_model_run(tw_model* model, const tw_buffer* inputs, size_t input_count,
                            const tw_buffer* outputs, size_t output_count,
                            tw_error* error) TW_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_TILEWRIGHT_H_ */
