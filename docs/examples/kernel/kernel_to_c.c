/* kernel_to_c STORE KEY: asks a record store for the best config of an operator on this machine and
 * prints its kernel as C99: loops that pack the operands, the loop nest, and a function `run` that
 * takes the tensors of KEY in their own layouts. STORE "-": no records, the default config. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

static const char kPrelude[] =
    "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
    "#define op_add(a, b) ((a) + (b))\n#define op_sub(a, b) ((a) - (b))\n"
    "#define op_mul(a, b) ((a) * (b))\n#define op_div(a, b) ((a) / (b))\n"
    "#define op_min(a, b) ((a) < (b) ? (a) : (b))\n#define op_max(a, b) ((a) > (b) ? (a) : (b))\n"
    "#define op_eq(a, b) ((a) == (b))\n#define op_ne(a, b) ((a) != (b))\n"
    "#define op_lt(a, b) ((a) < (b))\n#define op_le(a, b) ((a) <= (b))\n"
    "#define op_and(a, b) ((a) && (b))\n#define op_or(a, b) ((a) || (b))\n"
    "#define op_not(a) (!(a))\n#define op_cast(a) (a)\n#define op_select(c, a, b) ((c) ? (a) : "
    "(b))\n"
    "static inline int64_t op_floordiv(int64_t a, int64_t b) {\n"
    "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n"
    "static inline int64_t op_floormod(int64_t a, int64_t b) { return a - op_floordiv(a, b) * b; "
    "}\n";

static const char* Text(const tw_node* node, const char* name) {
  return tw_node_text(tw_node_get(node, name));
}
static long long Integer(const tw_node* node, const char* name) {
  return tw_node_integer(tw_node_get(node, name));
}

/* Prints the type of C for a dtype. */
static void PrintType(const tw_node* value) {
  const char* dtype = Text(value, "dtype");
  if (strcmp(dtype, "float32") == 0)
    printf("float");
  else if (strcmp(dtype, "float64") == 0)
    printf("double");
  else if (strcmp(dtype, "bool") == 0)
    printf("int");
  else
    printf("%s_t", dtype); /* float16_t: this machine's C compiler may lack it */
}

static const tw_node* FindBuffer(const tw_node* loops, const char* name) {
  return tw_node_get(tw_node_get(loops, "buffers"), name);
}

static void PrintExpression(const tw_node* loops, const tw_node* e);

/* Prints an element of a buffer, which is row-major. */
static void PrintElement(const tw_node* loops, const tw_node* access) {
  const tw_node* buffer = FindBuffer(loops, Text(access, "buffer"));
  const tw_node* indices = tw_node_get(access, "indices");
  long long stride = Integer(buffer, "elements");
  printf("%s[0", Text(access, "buffer"));
  for (size_t i = 0; i < tw_node_size(indices); ++i) {
    stride /= tw_node_integer(tw_node_at(tw_node_get(buffer, "shape"), i));
    printf(" + %lld * ", stride);
    PrintExpression(loops, tw_node_at(indices, i));
  }
  printf("]");
}

static void PrintExpression(const tw_node* loops, const tw_node* e) {
  const char* op = Text(e, "op");
  const tw_node* value = tw_node_get(e, "value");
  const tw_node* args = tw_node_get(e, "args");
  if (tw_node_type(e) == TW_NODE_INTEGER) {
    printf("(%lld)", (long long)tw_node_integer(e));
  } else if (tw_node_type(e) == TW_NODE_TEXT) {
    printf("%s", tw_node_text(e)); /* a loop variable */
  } else if (strcmp(op, "load") == 0) {
    PrintElement(loops, e);
  } else {
    printf("((");
    PrintType(e); /* C computes small integers as int: back to the type of the expression */
    printf(")");
    if (tw_node_type(value) == TW_NODE_TEXT) { /* a constant "inf", "-inf" or "nan" */
      printf("%sINFINITY", strcmp(tw_node_text(value), "-inf") == 0 ? "-" : "");
    } else if (strcmp(op, "const") == 0) {
      printf("(%.17g)", tw_node_number(value));
    } else {
      printf(strcmp(op, "call") == 0 ? "%s(" : "op_%s(",
             strcmp(op, "call") == 0 ? Text(e, "function") : op);
      for (size_t i = 0; i < tw_node_size(args); ++i) {
        if (i > 0) printf(", ");
        PrintExpression(loops, tw_node_at(args, i));
      }
      printf(")");
    }
    printf(")");
  }
}

static void PrintStatements(const tw_node* loops, const tw_node* list) {
  for (size_t i = 0; i < tw_node_size(list); ++i) {
    const tw_node* s = tw_node_at(list, i);
    const char *kind = Text(s, "stmt"), *var = Text(s, "var"), *name = Text(s, "buffer");
    if (strcmp(kind, "for") == 0) {
      if (strcmp(Text(s, "kind"), "parallel") == 0) printf("#pragma omp parallel for\n");
      if (strcmp(Text(s, "kind"), "vectorized") == 0) printf("#pragma omp simd\n");
      printf("for (int64_t %s = 0; %s < %lld; ++%s) {\n", var, var, Integer(s, "extent"), var);
      PrintStatements(loops, tw_node_get(s, "body"));
    } else if (strcmp(kind, "if") == 0) {
      printf("if (");
      PrintExpression(loops, tw_node_get(s, "condition"));
      printf(") {\n");
      PrintStatements(loops, tw_node_get(s, "then"));
      printf("} else {\n");
      PrintStatements(loops, tw_node_get(s, "else"));
    } else if (strcmp(kind, "allocate") == 0) {
      const tw_node* buffer = FindBuffer(loops, name);
      const long long elements = Integer(buffer, "elements");
      const int is_large = elements > 8192; /* not on the stack */
      printf("{ ");
      PrintType(buffer);
      if (is_large) printf("* %s = malloc(sizeof *%s * %lld);\n", name, name, elements);
      if (!is_large) printf(" %s[%lld];\n", name, elements);
      PrintStatements(loops, tw_node_get(s, "body"));
      if (is_large) printf("free(%s);\n", name);
    } else if (strcmp(kind, "store") == 0) {
      printf("{ ");
      PrintElement(loops, s);
      printf(" = ");
      PrintExpression(loops, tw_node_get(s, "value"));
      printf(";");
    } else if (strcmp(kind, "prefetch") == 0) {
      continue;
    } else {
      fprintf(stderr, "this program does not translate the statement '%s'\n", kind);
      exit(3);
    }
    printf("}\n");
  }
}

/* Prints loops as a function of their buffers. */
static void PrintFunction(const tw_node* loops, const char* prefix, const char* name) {
  const tw_node* inputs = tw_node_get(loops, "inputs");
  const char* output = tw_node_text(tw_node_at(tw_node_get(loops, "outputs"), 0));
  printf("static void %s%s(", prefix, name);
  for (size_t i = 0; i < tw_node_size(inputs); ++i) {
    const char* input = tw_node_text(tw_node_at(inputs, i));
    printf("const ");
    PrintType(FindBuffer(loops, input));
    printf("* %s, ", input);
  }
  PrintType(FindBuffer(loops, output));
  printf("* %s) {\n", output);
  PrintStatements(loops, tw_node_get(loops, "body"));
  printf("}\n");
}

static int IsPacked(const tw_node* operand) {
  return tw_node_type(tw_node_get(operand, "packing")) == TW_NODE_OBJECT;
}

/* Prints `run`: packs the operands, runs the kernel, unpacks the result, which is the last one. */
static void PrintRun(const tw_node* operands) {
  const size_t last = tw_node_size(operands) - 1;
  printf("void run(");
  for (size_t i = 0; i <= last; ++i) {
    if (i < last) printf("const ");
    PrintType(tw_node_get(tw_node_at(operands, i), "logical"));
    printf("* %s%s", Text(tw_node_at(operands, i), "name"), i < last ? ", " : ") {\n");
  }
  for (size_t i = 0; i <= last; ++i) {
    const tw_node* operand = tw_node_at(operands, i);
    const char* name = Text(operand, "name");
    if (!IsPacked(operand)) continue;
    PrintType(tw_node_get(operand, "packed"));
    printf("* packed_%s = malloc(%lld * sizeof *packed_%s);\n", name,
           Integer(tw_node_get(operand, "packed"), "elements"), name);
    if (i < last) printf("pack_%s(%s, packed_%s);\n", name, name, name);
  }
  printf("kernel(");
  for (size_t i = 0; i <= last; ++i) {
    printf("%s%s%s", IsPacked(tw_node_at(operands, i)) ? "packed_" : "",
           Text(tw_node_at(operands, i), "name"), i < last ? ", " : ");\n");
  }
  for (size_t i = 0; i <= last; ++i) {
    const char* name = Text(tw_node_at(operands, i), "name");
    if (!IsPacked(tw_node_at(operands, i))) continue;
    if (i == last) printf("pack_%s(packed_%s, %s);\n", name, name, name);
    printf("free(packed_%s);\n", name);
  }
  printf("}\n");
}

static void PrintKernel(const tw_node* root) {
  const tw_node* operands = tw_node_get(root, "operands");
  const tw_node* knobs = tw_node_get(root, "knobs");
  printf("/* %s by %s\n", Text(root, "workload"), Text(root, "template"));
  for (size_t i = 0; i < tw_node_size(knobs); ++i) {
    const tw_node* knob = tw_node_at(knobs, i);
    printf(" * %s: %s\n", Text(knob, "name"), Text(knob, "description"));
  }
  printf(" */\n%s", kPrelude);
  for (size_t i = 0; i < tw_node_size(operands); ++i) {
    const tw_node* operand = tw_node_at(operands, i);
    if (IsPacked(operand)) {
      PrintFunction(tw_node_get(operand, "packing"), "pack_", Text(operand, "name"));
    }
  }
  PrintFunction(tw_node_get(root, "loops"), "", "kernel");
  PrintRun(operands);
}

int main(int argc, char** argv) {
  tw_error error = TW_ERROR_INIT;
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  tw_catalog* catalog = NULL;
  tw_target* target = NULL;
  tw_answer* answer = NULL;
  tw_kernel* kernel = NULL;
  if (argc != 3) {
    fprintf(stderr, "usage: kernel_to_c STORE|- KEY\n");
    return 2;
  }
  options.accept = TW_ACCEPT_MEASURED | TW_ACCEPT_DEFAULT;
  if (tw_catalog_create(&catalog, &error) == TW_OK &&
      (strcmp(argv[1], "-") == 0 || tw_catalog_add_store(catalog, argv[1], &error) == TW_OK) &&
      tw_target_create(NULL, NULL, &target, &error) == TW_OK &&
      tw_query_key(catalog, target, argv[2], &options, &answer, &error) == TW_OK &&
      tw_answer_kernel(answer, NULL, &kernel, &error) == TW_OK) {
    PrintKernel(tw_kernel_root(kernel));
  } else {
    fprintf(stderr, "%s (%s)\n", error.message, tw_code_name(error.code));
  }
  tw_kernel_free(kernel);
  tw_answer_free(answer);
  tw_target_free(target);
  tw_catalog_free(catalog);
  return error.code == TW_OK ? 0 : 1;
}
