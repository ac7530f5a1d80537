/* Tilewright's C interface: queries for the best known schedule of an operator at compile time, and
 * execution of compiled models. Plain C99; docs/c-abi.md is the manual and docs/examples/ has
 * programs.
 *
 * Rules for every function:
 * - No function exits, prints, reads the environment or throws an exception.
 * - Functions that can fail return a tw_code; with a tw_error they also return a message. The
 *   message is stored in the caller's struct, so threads do not interfere. `error` may be null.
 * - Objects are opaque. Each created object has one free function, which accepts null. A returned
 *   string or array belongs to the object that was queried and is valid until that object is freed;
 *   the caller frees nothing else.
 * - Structs begin with struct_size, set by the caller (by the TW_..._INIT macros): a library that
 *   is newer or older than the header reads and writes only that many bytes.
 * - Any number of threads may use a tw_catalog at once. tw_target and tw_answer are immutable, so
 *   threads may share them too. A tw_operator or tw_model is for one thread at a time.
 * - A process may fork() while its threads use catalogs: the fork waits for running calls, and
 *   parent and child can both use existing objects and create new ones. A child of vfork, or of a
 *   fork within a call (as in a signal handler), must not call any function.
 * - Texts are UTF-8 and end in a zero byte. Times are in seconds, sizes in bytes. */

#ifndef TILEWRIGHT_TILEWRIGHT_H_
#define TILEWRIGHT_TILEWRIGHT_H_

#include <stddef.h>
#include <stdint.h>

/* plugin.h, if it is included before, defines an older name that conflicts. */
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
#define TW_API_VERSION 2u
/** Version of the interface that the loaded library has; at least TW_API_VERSION, else the library
 *  is older than the header and lacks functions. */
TW_API uint32_t tw_api_version(void) TW_NOEXCEPT;
/** Version of the library, such as "1.0.0". */
TW_API const char* tw_version(void) TW_NOEXCEPT;

/* ---- Errors */

/** Error code by the caller's next action. Codes may be added. */
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
  TW_TOO_SMALL = 8 /* enlarge the buffer; the needed size is returned */
};
/** Returns "ok", "invalid argument", ...; "unknown code" for any other number. */
TW_API const char* tw_code_name(tw_code code) TW_NOEXCEPT;

/** Code and message of a failure: `tw_error error = TW_ERROR_INIT;`. */
typedef struct tw_error {
  uint32_t struct_size;
  tw_code code;
  char message[1016]; /* one line, truncated if it is longer; "" after success */
} tw_error;
#define TW_ERROR_INIT \
  { sizeof(tw_error), TW_OK, "" }

/* ---- Targets */

/** Compilation target and the device that runs the code. */
typedef struct tw_target tw_target;

/** Creates a target.
 *  target: a text such as "llvm -mcpu=znver4", or "native"; null: "native", this machine with one
 *  thread. Records of several threads belong to a target with that option: "native -num-threads=2".
 *  Unlike `tilewright query --target`, it takes no names of boards. Unknown processors and options
 *  that neither Tilewright nor TVM has are errors.
 *  device: a device fingerprint as in records, one line of JSON; null: this machine's CPU.
 *  Errors: TW_INVALID_ARGUMENT with the part that is invalid. */
TW_API tw_code tw_target_create(const char* target, const char* device, tw_target** out,
                                tw_error* error) TW_NOEXCEPT;
TW_API void tw_target_free(tw_target* target) TW_NOEXCEPT;
/** Returns the canonical text of the target, by which records are matched. */
TW_API const char* tw_target_text(const tw_target* target) TW_NOEXCEPT;
/** Returns the device fingerprint as JSON. */
TW_API const char* tw_target_device(const tw_target* target) TW_NOEXCEPT;

/* ---- Catalogs */

/** Stores and packages in lookup order, which is the order in which they were added, and a cache of
 *  lookup results. The next query sees a commit to a store. A replaced file is detected within 0.1
 *  s, or at once by tw_catalog_refresh. */
typedef struct tw_catalog tw_catalog;

TW_API tw_code tw_catalog_create(tw_catalog** out, tw_error* error) TW_NOEXCEPT;
/** Requires that no other thread uses the catalog. Answers stay valid. */
TW_API void tw_catalog_free(tw_catalog* catalog) TW_NOEXCEPT;
/** Adds a record store, opened for reading.
 *  Errors: TW_NOT_FOUND; TW_CORRUPT if it is not a store, or newer than the library supports;
 *  TW_UNSUPPORTED for an older one (opening it for writing once migrates it); TW_UNAVAILABLE. */
TW_API tw_code tw_catalog_add_store(tw_catalog* catalog, const char* path,
                                    tw_error* error) TW_NOEXCEPT;
/** Trust policy of a package file. */
typedef struct tw_package_options {
  uint32_t struct_size;
  uint32_t allow_unsigned; /* 1: accept packages without a signature; never those of unknown keys */
  const char* trusted_keys; /* path of a file of public keys: FILE.pub, or the user's trusted_keys;
                               null: none */
} tw_package_options;
#define TW_PACKAGE_OPTIONS_INIT \
  { sizeof(tw_package_options), 0, 0 }
/** Adds a package file (.twpkg): it is read, checked and unpacked into memory once, and not read
 *  again. options: null for TW_PACKAGE_OPTIONS_INIT, which trusts no key.
 *  Errors: TW_NOT_FOUND; TW_CORRUPT if any bit differs from the built package; TW_UNSUPPORTED if it
 *  is unsigned, signed by an unknown key, or newer than the library; TW_INVALID_ARGUMENT. */
TW_API tw_code tw_catalog_add_package(tw_catalog* catalog, const char* path,
                                      const tw_package_options* options,
                                      tw_error* error) TW_NOEXCEPT;
/** Adds every package installed in a directory, such as "/usr/share/tilewright/packages", in the
 *  order of `tilewright package list`. They were checked when they were installed. A missing
 *  directory contains none. added: their number; may be null. tw_catalog_problem lists the unusable
 *  ones.
 *  Errors: TW_INVALID_ARGUMENT if the path is not absolute or not a directory. */
TW_API tw_code tw_catalog_add_installed(tw_catalog* catalog, const char* folder, size_t* added,
                                        tw_error* error) TW_NOEXCEPT;
/** Returns a skipped package and the reason; null if there is no such index. */
TW_API const char* tw_catalog_problem(const tw_catalog* catalog, size_t index) TW_NOEXCEPT;
/** Adds an AutoTVM log or a TopHub package ("cuda_v0.10.log"), imported into memory once. Only
 *  queries by TW_RULE_AUTOTVM use it. (A store with logs imported by `tilewright records import`
 *  serves them too, and opens faster.)
 *  Errors: TW_NOT_FOUND; TW_INVALID_ARGUMENT if no line is a record. */
TW_API tw_code tw_catalog_add_log(tw_catalog* catalog, const char* path,
                                  tw_error* error) TW_NOEXCEPT;
/** Sets the cost model for TW_ACCEPT_MODEL, made by `tilewright train`. Can be called once.
 *  Errors: TW_NOT_FOUND; TW_INVALID_ARGUMENT if it is not a model, uses other features than this
 *  library computes, or is the second one. */
TW_API tw_code tw_catalog_set_model(tw_catalog* catalog, const char* path,
                                    tw_error* error) TW_NOEXCEPT;
/** Returns the number of stores and packages added so far. */
TW_API size_t tw_catalog_source_count(const tw_catalog* catalog) TW_NOEXCEPT;
/** Returns the path of a source as it was given; null if there is no such index. */
TW_API const char* tw_catalog_source_path(const tw_catalog* catalog, size_t index) TW_NOEXCEPT;
/** Checks every file now and drops answers that may have changed. */
TW_API tw_code tw_catalog_refresh(tw_catalog* catalog, tw_error* error) TW_NOEXCEPT;

/* ---- Operators.
 * A description of an operator for callers that have neither a key nor a tuple. */

typedef struct tw_operator tw_operator;

/** Creates a description. name: "conv2d" (any groups), "conv2d_transpose", "dense", "batch_matmul";
 *  also "depthwise_conv2d" and "group_conv2d", which are conv2d with groups.
 *  Errors: TW_INVALID_ARGUMENT for another name. */
TW_API tw_code tw_operator_create(const char* name, tw_operator** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_operator_free(tw_operator* op) TW_NOEXCEPT;
/** Adds the next tensor: data first, then weight. dtype: "float32", "int8", "uint8", ...
 *  Errors: TW_INVALID_ARGUMENT for a third tensor, an unknown dtype or a size below 1. */
TW_API tw_code tw_operator_add_tensor(tw_operator* op, const char* dtype, const int64_t* shape,
                                      size_t rank, tw_error* error) TW_NOEXCEPT;
/** Sets an attribute of integers. Defaults are in brackets: "strides" [1 1] and "dilation" [1 1]:
 *  one or two values; "padding" [0 0 0 0]: one, two (rows, columns) or four (top, left, bottom,
 *  right); "output_padding" [0 0]: one or two; "groups" [1]. "narrow_weights" [0]: 1 states
 *  that the weights of a conv2d or dense of 8-bit data are int8 constants, all within -64 to 64. On
 *  CPUs with AVX2 and without VNNI such a layer is a separate task (",w64" in the key) and is
 *  looked up as that.
 *  Errors: TW_INVALID_ARGUMENT for an unknown name, a wrong number of values, or a value of
 *  "narrow_weights" other than 0 and 1. */
TW_API tw_code tw_operator_set_integers(tw_operator* op, const char* name, const int64_t* values,
                                        size_t count, tw_error* error) TW_NOEXCEPT;
/** Sets an attribute of text: "data_layout" [NCHW], "kernel_layout" [OIHW, of conv2d_transpose
 *  IOHW], "out_dtype" [int32 for integers, else that of the data].
 *  Errors: TW_INVALID_ARGUMENT for an unknown name; layouts are checked when the operator is
 *  used. */
TW_API tw_code tw_operator_set_text(tw_operator* op, const char* name, const char* value,
                                    tw_error* error) TW_NOEXCEPT;
/** Writes the canonical key. buffer may be null: then only *needed is set (bytes, including the
 *  zero byte).
 *  Errors: TW_INVALID_ARGUMENT if shapes, types, layouts and attributes are inconsistent;
 *  TW_TOO_SMALL: nothing is written, and *needed is set. */
TW_API tw_code tw_operator_key(const tw_operator* op, char* buffer, size_t capacity, size_t* needed,
                               tw_error* error) TW_NOEXCEPT;

/* ---- Queries */

/** Kind of an answer, best first. */
typedef int32_t tw_kind;
enum {
  TW_KIND_HIT = 0,     /* measured: this workload, target and device class */
  TW_KIND_NEAR = 1,    /* measured: another device whose code runs here, or a similar workload */
  TW_KIND_MODEL = 2,   /* not measured: choice of a cost model */
  TW_KIND_DEFAULT = 3, /* not measured: the template's default config */
  TW_KIND_MISS = 4     /* no config */
};
/** Returns "hit", "near", "model", "default" or "miss". */
TW_API const char* tw_kind_name(tw_kind kind) TW_NOEXCEPT;

/** Kinds that a caller accepts. Kinds without a bit are skipped. If the query finds none of the
 *  accepted kinds, the answer is a miss. */
enum {
  TW_ACCEPT_HIT = 1,
  TW_ACCEPT_NEAR = 2,
  /** Requires tw_catalog_set_model. Without a model every query with this bit fails with
   *  TW_UNSUPPORTED, even if a store has a record, so that the error does not depend on the
   *  workload. Choosing a config takes about 0.1 s; the result is cached. */
  TW_ACCEPT_MODEL = 4,
  TW_ACCEPT_DEFAULT = 8,
  TW_ACCEPT_MEASURED = TW_ACCEPT_HIT | TW_ACCEPT_NEAR
};

/** Rule for matching records. */
enum {
  TW_RULE_TILEWRIGHT = 0, /* docs/records.md, "What is served" */
  TW_RULE_AUTOTVM = 1     /* as AutoTVM does, on imported, unverified records */
};

typedef struct tw_query_options {
  uint32_t struct_size;
  uint32_t accept; /* TW_ACCEPT_ bits, at least one */
  uint32_t rule;   /* TW_RULE_ */
} tw_query_options;
#define TW_QUERY_OPTIONS_INIT \
  { sizeof(tw_query_options), TW_ACCEPT_MEASURED, TW_RULE_TILEWRIGHT }

/** Result of a query. Independent of the catalog after it is created. */
typedef struct tw_answer tw_answer;

/** Queries by canonical key, such as
 *  "conv2d(float32[1,3,224,224]NCHW,float32[64,3,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g1)->float32".
 *  options: null for TW_QUERY_OPTIONS_INIT. A miss is an answer, not an error.
 *  Errors: TW_INVALID_ARGUMENT with the position of the invalid part; TW_UNSUPPORTED for a rule or
 *  kind that this library cannot serve; TW_NOT_FOUND if a store's file was removed; TW_CORRUPT;
 *  TW_UNAVAILABLE. */
TW_API tw_code tw_query_key(tw_catalog* catalog, const tw_target* target, const char* key,
                            const tw_query_options* options, tw_answer** out,
                            tw_error* error) TW_NOEXCEPT;
/** Queries by the text of an AutoTVM workload, such as "('dense_nopack.x86', ('TENSOR', (1, 512),
 *  'float32'), ('TENSOR', (1000, 512), 'float32'), None, 'float32')". */
TW_API tw_code tw_query_tuple(tw_catalog* catalog, const tw_target* target, const char* tuple,
                              const tw_query_options* options, tw_answer** out,
                              tw_error* error) TW_NOEXCEPT;
/** Queries by description. */
TW_API tw_code tw_query_operator(tw_catalog* catalog, const tw_target* target,
                                 const tw_operator* op, const tw_query_options* options,
                                 tw_answer** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_answer_free(tw_answer* answer) TW_NOEXCEPT;

/* ---- Answers */

TW_API tw_kind tw_answer_kind(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the measured seconds of one run, the median of the clean samples; NaN if this workload
 * was not measured (the record of a near match contains the measured one). */
TW_API double tw_answer_cost_seconds(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the expected slowdown against a config tuned for this workload and device: 1 for a hit,
 *  1.15 for "up to 15 % slower"; NaN if it is unknown. */
TW_API double tw_answer_expected_slowdown(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the queried workload as a canonical key; by TW_RULE_AUTOTVM the tuple, if there is no
 *  key. */
TW_API const char* tw_answer_workload(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the canonical text of the queried target. */
TW_API const char* tw_answer_target(const tw_answer* answer) TW_NOEXCEPT;
/** Returns one line of text: the rule and every deciding field. Never empty. */
TW_API const char* tw_answer_explanation(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the number of differences between the query and the record, one line each; usually 0 for
 *  a hit. */
TW_API size_t tw_answer_difference_count(const tw_answer* answer) TW_NOEXCEPT;
/** Returns null if there is no such index. */
TW_API const char* tw_answer_difference(const tw_answer* answer, size_t index) TW_NOEXCEPT;
/** Returns the schedule template of the config, such as "conv2d_NCHWc.x86"; "" for a miss. */
TW_API const char* tw_answer_template(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the version of the template: while it is equal, knobs have the same meaning. 0 for a
 *  miss, and for an imported record that no template of this library can build. */
TW_API int32_t tw_answer_template_version(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the index of the config in the template's space, -1 if it has none. The knobs are
 *  authoritative. */
TW_API int64_t tw_answer_config_index(const tw_answer* answer) TW_NOEXCEPT;
/** Returns the config as JSON: {"index":188,"values":{"tile_ic":[1,64]}}; "" for a miss. */
TW_API const char* tw_answer_config(const tw_answer* answer) TW_NOEXCEPT;

/** Kinds of knobs, as in AutoTVM: sp, re, an, ot. */
enum {
  TW_KNOB_SPLIT = 0,    /* loop extents, outermost first */
  TW_KNOB_REORDER = 1,  /* item i: axis at position i from outside */
  TW_KNOB_ANNOTATE = 2, /* one word per axis */
  TW_KNOB_OTHER = 3     /* defined by the template: a scalar, or a list */
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

/** Returns the number of knobs of the config, in the template's order; 0 for a miss. */
TW_API size_t tw_answer_knob_count(const tw_answer* answer) TW_NOEXCEPT;
/** Errors: TW_INVALID_ARGUMENT if there is no such index. */
TW_API tw_code tw_answer_knob(const tw_answer* answer, size_t index, tw_knob* out,
                              tw_error* error) TW_NOEXCEPT;
/** Errors: TW_NOT_FOUND if the config has no knob of this name. */
TW_API tw_code tw_answer_find_knob(const tw_answer* answer, const char* name, tw_knob* out,
                                   tw_error* error) TW_NOEXCEPT;

/** Record of an answer. */
typedef struct tw_record {
  uint32_t struct_size;
  int32_t verified;     /* 1: its result was compared with the reference */
  const char* id;       /* 32 hexadecimal digits; the same in every copy of the record */
  const char* source;   /* path of the store or package */
  const char* workload; /* measured candidate: key, target, device (JSON), epilogue */
  const char* target;
  const char* device;
  const char* device_model; /* such as the CPU's name */
  const char* epilogue;     /* fused epilogue; "" for none */
  const char* metric;       /* unit of value and samples: "seconds", "cycles", ... */
  double value;             /* median of the clean samples */
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
/** Writes the whole answer as one line of JSON, an element of the list of `tilewright query
 *  --json`. buffer may be null: then only *needed is set (bytes, including the zero byte).
 *  Errors: TW_TOO_SMALL: nothing is written, and *needed is set. */
TW_API tw_code tw_answer_json(const tw_answer* answer, char* buffer, size_t capacity,
                              size_t* needed, tw_error* error) TW_NOEXCEPT;

/* ---- Kernels.
 * All data that a compiler needs to generate the code of an answer itself. */

/** Kernel of an answer: a tree of values. Immutable; independent of the answer after it is created,
 *  so threads may share it. */
typedef struct tw_kernel tw_kernel;

typedef struct tw_kernel_options {
  uint32_t struct_size;
  uint32_t reserved;    /* 0 */
  const char* epilogue; /* fused steps, as in tw_record.epilogue; null or "": none */
} tw_kernel_options;
#define TW_KERNEL_OPTIONS_INIT \
  { sizeof(tw_kernel_options), 0, 0 }

/* clang-format off */
/** Creates the kernel of an answer: the queried workload by the answer's config on the queried
 *  target. options: null for TW_KERNEL_OPTIONS_INIT. Takes milliseconds; nothing is cached.
 *
 *  The root is an object. Since API version 2:
 *    "format" (1), "workload", "epilogue", "target", "template", "template_version"
 *    "knobs": list of {"name", "value", "kind", "description"}. The value is a number, a text, a
 *      boolean or a list of numbers, as in "config" of `query --json`; the kind a word such as
 *      "split" or "other"; the description the meaning, as in docs/knobs.md
 *    "operands": list of parameters in the order of the kernel's signature, the result last:
 *      "name": of its buffer in "loops"
 *      "role": "data", "weight", "compensation", "channel", "tensor", "input" or "result"
 *      "operand": number of an epilogue operand or of an expression's input
 *      "logical", "packed": the tensor of the workload, and the tensor in memory that the kernel
 *        uses. Both are row-major: {"dtype", "shape", "elements", "layout", "dims"}.
 *        "dims" has an object for each dimension, outermost first: {"name", "size", "stride",
 *        "step"}. In dimension "N" an element has the number that is the sum of index * step over
 *        all dims named "N"; numbers beyond the logical size are padding.
 *        "packed" also has "padding_elements" and "padding_value". The transformed weight of a
 *        Winograd kernel is no permutation of the logical one: its "layout" is "", its "dims" are
 *        empty, and "winograd_tile" is the size of its tiles. "packing" computes it.
 *      "packing": null if both tensors are equal in memory, else loops with one input and one
 *        output that compute the packed tensor from the logical one; for the result, the logical
 *        one from the packed one. For a compensation, the input is the logical weight.
 *    "schedule": the text that `tilewright lower --emit schedule` prints; null with the reason in
 *      "no_schedule" if there is no text
 *    "intrinsics": list of the tensor intrinsics in the loops: {"name", "kind", "depth", "a", "b",
 *      "sum"}, the last three types. Regions are sum, a, b.
 *      "dot": sum[l] += the sum over j < depth of a[j] * b[l * depth + j], for each element l.
 *      "dot_of_taps": of a[j][l] * b[l * depth + j], where elements of `a` outside of its buffer
 *        are zero and not read.
 *      "mma": "m", "n", "k" of a matrix product of a GPU's warp.
 *    "loops": the loop nest. Null for a VTA, whose instructions are listed in "stream".
 *
 *  Loops: {"name", "inputs", "outputs", "buffers", "body"}.
 *    "buffers": object with a member for each buffer, by its name: {"dtype", "shape", "elements",
 *      "scope"}. The scope is "global", "local" (of one iteration) or "shared" (of a block of
 *      threads).
 *    "body": list of statements. "stmt" is:
 *      "for": "var" counts from 0 to "extent" - 1 over "body". "kind" is "serial", "parallel",
 *        "vectorized", "unrolled", "block.x" to "block.z", "thread.x" to "thread.z", or "vthread".
 *        All kinds may run as serial loops, unless "barrier" or "mma" statements are inside.
 *      "store": "buffer", "indices" (one for each dimension) and "value"
 *      "if": "condition", "then", "else" (lists)
 *      "allocate": "buffer" exists during "body"; its contents are undefined before the first store
 *      "copy", "intrinsic", "library_call": "regions", the written one first, with {"buffer",
 *        "min", "extent"}; "padding" and "condition" of a copy; "name" of the intrinsic
 *      "barrier"
 *      "prefetch": "buffer", "indices"; a hint
 *  An expression is a number (an index constant), a string (a loop variable), or an object with
 *  "op", "dtype" and:
 *    "const": "value"; infinities and NaN are the strings "inf", "-inf", "nan"
 *    "load": "buffer", "indices"
 *    "call": "function" (as in math.h, and softplus, sigmoid, mulhi_s64), "args"
 *    others: "args". "cast"; "add", "sub", "mul", "min", "max"; "div" (truncates integers);
 *      "floordiv" and "floormod" (rounded towards minus infinity); "eq", "ne", "lt", "le"; "and",
 *      "or", "not"; "shift_left", "shift_right"; "select" (condition, value if true, value if
 *      false; the other value is not evaluated)
 *  Index arithmetic is in int64. Names of buffers and loop variables are C identifiers, unique in
 *  one loop nest.
 *
 *  Errors: TW_NOT_FOUND for a miss; TW_UNSUPPORTED if this library has no template that can build
 *  the config (an imported record of another program, or another version); TW_INVALID_ARGUMENT for
 *  an invalid epilogue or if the config is illegal for the workload. */
/* clang-format on */
TW_API tw_code tw_answer_kernel(const tw_answer* answer, const tw_kernel_options* options,
                                tw_kernel** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_kernel_free(tw_kernel* kernel) TW_NOEXCEPT;
/** Writes the tree as one line of JSON, the member "kernel" of an answer of `tilewright query
 *  --json`. buffer may be null: then only *needed is set (bytes, including the zero byte).
 *  Errors: TW_TOO_SMALL: nothing is written, and *needed is set. */
TW_API tw_code tw_kernel_json(const tw_kernel* kernel, char* buffer, size_t capacity,
                              size_t* needed, tw_error* error) TW_NOEXCEPT;

/** Value in the tree of a kernel. Valid until the kernel is freed. All functions accept null, which
 *  is TW_NODE_NULL: a chain of calls needs no checks in between. */
typedef struct tw_node tw_node;
/** Types of values. */
enum {
  TW_NODE_NULL = 0,
  TW_NODE_BOOL = 1,    /* tw_node_integer: 0 or 1 */
  TW_NODE_INTEGER = 2, /* tw_node_integer, tw_node_number */
  TW_NODE_NUMBER = 3,  /* tw_node_number */
  TW_NODE_TEXT = 4,    /* tw_node_text */
  TW_NODE_LIST = 5,    /* tw_node_size, tw_node_at */
  TW_NODE_OBJECT = 6   /* tw_node_get; tw_node_size, tw_node_at and tw_node_name in order */
};

/** Returns the root of the tree; null for null. */
TW_API const tw_node* tw_kernel_root(const tw_kernel* kernel) TW_NOEXCEPT;
/** Returns a TW_NODE_ type. */
TW_API int32_t tw_node_type(const tw_node* node) TW_NOEXCEPT;
/** Returns the number of items of a list or members of an object; 0 for other types. */
TW_API size_t tw_node_size(const tw_node* node) TW_NOEXCEPT;
/** Returns an item or the value of a member; null if there is no such index. */
TW_API const tw_node* tw_node_at(const tw_node* node, size_t index) TW_NOEXCEPT;
/** Returns the name of a member; null if there is no such index or the node is no object. */
TW_API const char* tw_node_name(const tw_node* node, size_t index) TW_NOEXCEPT;
/** Returns the value of a member; null if there is none of this name. */
TW_API const tw_node* tw_node_get(const tw_node* node, const char* name) TW_NOEXCEPT;
/** Returns the value of an integer, a number rounded towards zero, or 0 or 1 of a bool; else 0. */
TW_API int64_t tw_node_integer(const tw_node* node) TW_NOEXCEPT;
/** Returns the value of a number or an integer; NaN for other types. */
TW_API double tw_node_number(const tw_node* node) TW_NOEXCEPT;
/** Returns a text; "" for other types. */
TW_API const char* tw_node_text(const tw_node* node) TW_NOEXCEPT;

/* ---- Tasks: tuning of the calling program's own kernels.
 * The program describes a space, asks for configs, measures them itself, and tells the results.
 * docs/howto-open.md has an example. All functions check their arguments: a handle that does not
 * exist or was freed, text that is not UTF-8, numbers that are not finite and counts beyond the
 * limits are errors (TW_INVALID_ARGUMENT), and the store stays as it is. */

/** Task in a record store. Any number of threads and processes may open the same task and use it at
 *  once; all share the search, and a later one continues it. */
typedef struct tw_tuning tw_tuning;

/** Description of a task. Texts may be null unless stated otherwise. Name, problem and metrics
 *  identify the task: a changed space keeps its records. */
typedef struct tw_tuning_options {
  uint32_t struct_size;
  uint32_t warm_start; /* 1: start with records of other environments and of other problems */
  const char* name;    /* not null: name of the kernel, 1 to 18 letters, digits, '_' and '-' */
  const char* space;   /* not null: JSON text of a T1 file */
  /** What the kernel solves: a JSON object of sizes and properties, {"m": 512, "dtype": "half"}.
   *  A query finds records of other sizes as near hits. */
  const char* problem;
  const char* metrics; /* names, separated by commas, the minimized one first; null: "seconds" */
  /** Where the kernel runs: {"match": {"gpu": "A100"}, "differ": {"driver": "535.1"}}. A record is
   *  served only where its fields in "match" are equal; if one in "differ" is not, it is a near
   *  hit. Null: this machine's CPU. */
  const char* environment;
  const char* strategy; /* "auto" (null), "genetic", "grid", "random" or "surrogate" */
  uint64_t seed;
  const char* const* warm_stores; /* paths of further stores for the warm start */
  size_t warm_store_count;
} tw_tuning_options;
#define TW_TUNING_OPTIONS_INIT \
  { sizeof(tw_tuning_options), 1, 0, 0, 0, 0, 0, 0, 1, 0, 0 }

/** Opens a task. store: path of the record store, which is created if it is missing.
 *  Errors: TW_INVALID_ARGUMENT naming the option; TW_CORRUPT if the file is no store;
 *  TW_UNAVAILABLE if it cannot be written; TW_UNSUPPORTED on a network file system. */
TW_API tw_code tw_tuning_open(const char* store, const tw_tuning_options* options, tw_tuning** out,
                              tw_error* error) TW_NOEXCEPT;
/** Proposals without a result stay in the store. */
TW_API void tw_tuning_free(tw_tuning* task) TW_NOEXCEPT;
/** Returns the key of the task, as in records: "open(NAME,HASH)". */
TW_API const char* tw_tuning_key(const tw_tuning* task) TW_NOEXCEPT;
/** Returns the target of its records: with its metrics, and the environment as the device. */
TW_API const tw_target* tw_tuning_target(const tw_tuning* task) TW_NOEXCEPT;

/** Config that a search proposes. Independent of the task after it is created. */
typedef struct tw_proposal tw_proposal;

/** Proposes the next config. No other thread or process gets the same one. A config that was
 *  proposed to a process that ended without telling a result is proposed again.
 *  Errors: TW_NOT_FOUND if all configs were proposed; TW_UNAVAILABLE, TW_CORRUPT of the store. */
TW_API tw_code tw_tuning_ask(tw_tuning* task, tw_proposal** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_proposal_free(tw_proposal* config) TW_NOEXCEPT;
/** Returns the number of the proposal, for tw_tuning_tell, also in other processes; -1 for null. */
TW_API int64_t tw_proposal_number(const tw_proposal* config) TW_NOEXCEPT;
/** Returns the config as a JSON object: {"block":8,"order":"rows"}. */
TW_API const char* tw_proposal_json(const tw_proposal* config) TW_NOEXCEPT;
/** Returns the value of a parameter as text, without quotes; null if there is none of this name. */
TW_API const char* tw_proposal_text(const tw_proposal* config, const char* name) TW_NOEXCEPT;
/** Reads an integer, or a boolean as 0 or 1.
 *  Errors: TW_NOT_FOUND if there is no parameter of this name; TW_INVALID_ARGUMENT if its value is
 *  no integer. */
TW_API tw_code tw_proposal_integer(const tw_proposal* config, const char* name, int64_t* out,
                                   tw_error* error) TW_NOEXCEPT;
/** Reads a number. Errors: as tw_proposal_integer. */
TW_API tw_code tw_proposal_real(const tw_proposal* config, const char* name, double* out,
                                tw_error* error) TW_NOEXCEPT;

/** What became of a config. Verdicts may be added. */
enum {
  TW_VERDICT_OK = 0,
  TW_VERDICT_COMPILE = 1,     /* it does not compile */
  TW_VERDICT_RUNTIME = 2,     /* it crashed or reported an error */
  TW_VERDICT_TIMEOUT = 3,     /* it took too long */
  TW_VERDICT_CORRECTNESS = 4, /* its result is wrong */
  TW_VERDICT_CONSTRAINTS = 5  /* the device or the program rejects the config */
};
/** Returns "ok", "compile", ...; "unknown verdict" for any other number. */
TW_API const char* tw_verdict_name(int32_t verdict) TW_NOEXCEPT;

/** Samples of one metric. Never gets another member. */
typedef struct tw_value {
  const char* name; /* of a metric: "seconds", or "time" with a unit */
  const char* unit; /* "ms", "us", "J", "MiB", ...; null or "": the metric's own */
  const double* samples;
  size_t sample_count; /* 1 to 4096 */
} tw_value;

/** Result of a config. */
typedef struct tw_measurement {
  uint32_t struct_size;
  int32_t verdict;        /* TW_VERDICT_ */
  const char* reason;     /* one line, why it failed; may be null */
  const tw_value* values; /* of TW_VERDICT_OK: a value of each metric; positive */
  size_t value_count;     /* at most 64 */
  double max_abs_error;   /* largest difference to the correct result; 0 if it is not known */
} tw_measurement;
#define TW_MEASUREMENT_INIT \
  { sizeof(tw_measurement), 0, 0, 0, 0, 0 }

/** Stores the result of a proposal. After TW_OK it survives kill -9 and a power failure. number:
 *  tw_proposal_number of a config that any process got for this task.
 *  Errors: TW_NOT_FOUND for a number that was never proposed; TW_INVALID_ARGUMENT for a second
 *  result, or naming the invalid member; TW_UNAVAILABLE if the store cannot be written. */
TW_API tw_code tw_tuning_tell(tw_tuning* task, int64_t number, const tw_measurement* result,
                              tw_error* error) TW_NOEXCEPT;
/** Stores the result of a config of the caller's choice, given as a JSON object with a value of
 *  each parameter. The search learns from it.
 *  Errors: as tw_tuning_tell; TW_INVALID_ARGUMENT for a config that is not in the space. */
TW_API tw_code tw_tuning_record(tw_tuning* task, const char* config, const tw_measurement* result,
                                tw_error* error) TW_NOEXCEPT;

/** Records of a task, of all its environments and spaces, in the order of their insertion. */
typedef struct tw_records tw_records;
/** Errors: TW_UNAVAILABLE, TW_CORRUPT of the store. */
TW_API tw_code tw_tuning_records(tw_tuning* task, tw_records** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_records_free(tw_records* records) TW_NOEXCEPT;
TW_API size_t tw_records_count(const tw_records* records) TW_NOEXCEPT;
typedef struct tw_trial {
  uint32_t struct_size;
  int32_t verdict;         /* TW_VERDICT_ */
  const char* id;          /* 32 hexadecimal digits; the same in every copy of the record */
  const char* config;      /* JSON, as tw_proposal_json */
  const char* environment; /* JSON, as in tw_tuning_options; of a CPU its fingerprint */
  const char* reason;      /* "" if ok */
  const char* metric;      /* of value and samples */
  const char* others;      /* values of the other metrics, a JSON object; "" for none */
  double value;            /* estimate from the samples; 0 after a failure */
  double noise;            /* relative half-width of its 95 % interval */
  double max_abs_error;
  double measured_unix_seconds;
  size_t sample_count;
  const double* samples;
} tw_trial;
#define TW_TRIAL_INIT \
  { sizeof(tw_trial), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/** Errors: TW_INVALID_ARGUMENT if there is no such index. */
TW_API tw_code tw_records_at(const tw_records* records, size_t index, tw_trial* out,
                             tw_error* error) TW_NOEXCEPT;

/** Queries for the best config of the task in its environment, with the task's description: the
 *  sources of the catalog need not have records of it. options: as of tw_query_key.
 *  Errors: as tw_query_key. */
TW_API tw_code tw_query_tuning(tw_catalog* catalog, const tw_tuning* task,
                               const tw_query_options* options, tw_answer** out,
                               tw_error* error) TW_NOEXCEPT;

/* ---- One config for several devices (docs/records.md, "Several devices") */

/** Choice of one config for several devices. The share of a config on a device is the best value
 *  there over its value, 0 to 1. The choice is the config, among those measured on all devices,
 *  whose least or mean share is largest. Independent of the catalog after it is created. */
typedef struct tw_device_choice tw_device_choice;
enum { TW_BY_WORST = 0, TW_BY_MEAN = 1 };
/** Why a share is known. */
enum {
  TW_EVIDENCE_NONE = 0,
  TW_EVIDENCE_MEASURED = 1, /* the config was measured on the device */
  TW_EVIDENCE_PREDICTED = 2 /* by configs measured on the device and on another one */
};
typedef struct tw_share {
  uint32_t struct_size;
  int32_t evidence;   /* TW_EVIDENCE_ */
  const char* device; /* its name, as asked */
  double share;       /* predicted: the median; 0 if the config fails, or without evidence */
  double low, high;   /* predicted: lower and upper quartile; else the share */
  const char* from;   /* predicted: name of the other device; else null */
  int64_t common;     /* predicted: number of configs measured on both */
} tw_share;
#define TW_SHARE_INIT \
  { sizeof(tw_share), 0, 0, 0, 0, 0, 0, 0 }

/** Chooses the config of a task for several devices, from the records of all sources of the
 *  catalog. key: of the task, as of tw_query_key or tw_tuning_key; target: names the metric.
 *  devices: models of devices, values of an environment's fields, targets, or "here". by: TW_BY_.
 *  If no config was measured on all devices with a score above 0, the choice has none; that is no
 *  error.
 *  Errors: TW_NOT_FOUND for a device without records of the task, with those that have some;
 *  TW_INVALID_ARGUMENT for a name of several devices, or a device twice; as tw_query_key. */
TW_API tw_code tw_query_devices(tw_catalog* catalog, const tw_target* target, const char* key,
                                const char* const* devices, size_t device_count, int32_t by,
                                tw_device_choice** out, tw_error* error) TW_NOEXCEPT;
TW_API void tw_device_choice_free(tw_device_choice* choice) TW_NOEXCEPT;
/** Returns the values of the config as a JSON object; "" without a config. */
TW_API const char* tw_device_choice_config(const tw_device_choice* choice) TW_NOEXCEPT;
/** Returns the template of the config; "" for a task of a program, and without a config. */
TW_API const char* tw_device_choice_template(const tw_device_choice* choice) TW_NOEXCEPT;
/** Returns the least or mean share of the config; 0 without one. */
TW_API double tw_device_choice_score(const tw_device_choice* choice) TW_NOEXCEPT;
/** Returns the number of devices. */
TW_API size_t tw_device_choice_count(const tw_device_choice* choice) TW_NOEXCEPT;
/** Reads the share of the config on a device. Errors: TW_INVALID_ARGUMENT if there is no such
 *  device; TW_NOT_FOUND without a config. */
TW_API tw_code tw_device_choice_share(const tw_device_choice* choice, size_t device, tw_share* out,
                                      tw_error* error) TW_NOEXCEPT;
/** Reads the share on the device `on` of the best config of the device `of`: what its record is
 *  worth there. Errors: TW_INVALID_ARGUMENT if there is no such device; TW_NOT_FOUND if `of` has no
 *  successful record. */
TW_API tw_code tw_device_choice_transfer(const tw_device_choice* choice, size_t of, size_t on,
                                         tw_share* out, tw_error* error) TW_NOEXCEPT;
/** Writes the choice as one line of JSON, as `tilewright query --over --json` prints it, without
 *  the member "task". buffer, needed and errors: as of tw_answer_json. */
TW_API tw_code tw_device_choice_json(const tw_device_choice* choice, char* buffer, size_t capacity,
                                     size_t* needed, tw_error* error) TW_NOEXCEPT;

/* ---- Compiled models. Runs output of `tilewright compile`. Opening a model runs its code: open
 * only models that you trust like a plug-in. */

typedef struct tw_model tw_model;

/** Input or output of a model. Tensors are dense and row-major. */
typedef struct tw_tensor_info {
  uint32_t struct_size;
  uint32_t rank;
  const char* name;
  const char* dtype;
  const int64_t* shape; /* `rank` sizes */
  uint64_t bytes;
} tw_tensor_info;
#define TW_TENSOR_INFO_INIT \
  { sizeof(tw_tensor_info), 0, 0, 0, 0, 0 }

/** Memory of the caller, of any alignment (multiples of 64 save a copy). */
typedef struct tw_buffer {
  void* data;
  uint64_t bytes;
} tw_buffer;

/** Errors: TW_NOT_FOUND; TW_INVALID_ARGUMENT if it is not a compiled model; TW_UNSUPPORTED if it
 *  was compiled by another version or for a CPU with features that this one lacks. */
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
/** Sets the number of threads of later runs, including the calling one.
 *  Errors: TW_INVALID_ARGUMENT below 1; TW_UNAVAILABLE if they cannot be started. */
TW_API tw_code tw_model_set_threads(tw_model* model, int32_t threads, tw_error* error) TW_NOEXCEPT;
/** Sets the size of a dimension that the model leaves open (compile --dim batch=1..64). Inputs and
 *  outputs are then described, and run, with this size; before, with the least. The shapes that
 *  tw_model_input and tw_model_output returned change with it. Allocates nothing.
 *  Errors: TW_INVALID_ARGUMENT if there is no such dimension, or for a size outside of its range.
 */
TW_API tw_code tw_model_set_size(tw_model* model, const char* dimension, int64_t size,
                                 tw_error* error) TW_NOEXCEPT;
/** Runs the model once, with one buffer per input and output, in order, of exactly their sizes.
 *  Errors: TW_INVALID_ARGUMENT naming the tensor; TW_NO_MEMORY; TW_UNAVAILABLE; TW_INTERNAL if an
 *  operator fails. */
TW_API tw_code tw_model_run(tw_model* model, const tw_buffer* inputs, size_t input_count,
                            const tw_buffer* outputs, size_t output_count,
                            tw_error* error) TW_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_TILEWRIGHT_H_ */
