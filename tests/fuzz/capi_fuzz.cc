// Every text that the C interface takes. The first line of the input selects the kind: key, tuple,
// autotvm (a tuple, by that rule), target, device, operator or epilogue (of a kernel). The rest is
// the text; for an operator, one call per line. Every result is read completely.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "include/tilewright/tilewright.h"
#include "src/base/status.h"
#include "src/base/strings.h"

namespace {

using tilewright::Split;

constexpr const char* kDevice =
    R"({"kind":"cpu","model":"","isa":[],"l1d_bytes":0,"l2_bytes":0,"l3_bytes":0,"cores":1,)"
    R"("extra":""})";

/// A catalog without stores and a target: queries get default configs.
struct Fixture {
  tw_catalog* catalog = nullptr;
  tw_target* target = nullptr;
  Fixture() {
    TW_CHECK(tw_catalog_create(&catalog, nullptr) == TW_OK);
    TW_CHECK(tw_target_create("llvm -mcpu=haswell", kDevice, &target, nullptr) == TW_OK);
  }
  ~Fixture() {
    tw_target_free(target);
    tw_catalog_free(catalog);
  }
};

/// Reads a tree completely; returns its number of nodes.
std::size_t ReadTree(const tw_node* node) {
  std::size_t nodes = 1;
  TW_CHECK(tw_node_text(node) != nullptr);
  TW_CHECK(tw_node_at(node, tw_node_size(node)) == nullptr);
  for (std::size_t i = 0; i < tw_node_size(node); ++i) nodes += ReadTree(tw_node_at(node, i));
  return nodes;
}

/// Creates and reads the kernel of an answer.
void ReadKernel(const tw_answer* answer, const tw_kernel_options& options) {
  tw_error error = TW_ERROR_INIT;
  tw_kernel* kernel = nullptr;
  const tw_code code = tw_answer_kernel(answer, &options, &kernel, &error);
  TW_CHECK((code == TW_OK) == (kernel != nullptr));
  TW_CHECK((code == TW_OK) == (error.message[0] == '\0'), error.message);
  TW_CHECK(code != TW_INTERNAL, error.message);
  if (code == TW_OK) TW_CHECK(ReadTree(tw_kernel_root(kernel)) > 10);
  tw_kernel_free(kernel);
}

void ReadAll(tw_answer* answer) {
  std::size_t needed = 0;
  TW_CHECK(tw_answer_json(answer, nullptr, 0, &needed, nullptr) == TW_OK);
  std::vector<char> text(needed);
  TW_CHECK(tw_answer_json(answer, text.data(), text.size(), &needed, nullptr) == TW_OK);
  for (std::size_t i = 0; i < tw_answer_knob_count(answer); ++i) {
    tw_knob knob = TW_KNOB_INIT, again = TW_KNOB_INIT;
    TW_CHECK(tw_answer_knob(answer, i, &knob, nullptr) == TW_OK);
    TW_CHECK(tw_answer_find_knob(answer, knob.name, &again, nullptr) == TW_OK);
  }
  TW_CHECK(*tw_answer_explanation(answer) != '\0');
  tw_answer_free(answer);
}

tw_operator* BuildOperator(const std::vector<std::string>& lines, tw_error* error) {
  tw_operator* op = nullptr;
  for (const std::string& line : lines) {
    const std::vector<std::string> words = Split(line, ' ');
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 2; i < words.size(); ++i) {
      numbers.push_back(std::strtoll(words[i].c_str(), nullptr, 10));
    }
    const char* second = words.size() > 1 ? words[1].c_str() : "";
    if (op == nullptr) {
      if (tw_operator_create(words[0].c_str(), &op, error) != TW_OK) return nullptr;
    } else if (words[0] == "tensor") {
      tw_operator_add_tensor(op, second, numbers.data(), numbers.size(), error);
    } else if (words[0] == "text") {
      tw_operator_set_text(op, second, words.size() > 2 ? words[2].c_str() : "", error);
    } else {
      tw_operator_set_integers(op, second, numbers.data(), numbers.size(), error);
    }
  }
  return op;
}

void AskAboutOperator(const Fixture& fixture, const std::string& text,
                      const tw_query_options& options, tw_error* error) {
  tw_operator* op = BuildOperator(Split(text, '\n'), error);
  if (op == nullptr) return;
  char key[4096];
  std::size_t needed = 0;
  const tw_code has_key = tw_operator_key(op, key, sizeof key, &needed, error);
  tw_answer* answer = nullptr;
  const tw_code code =
      tw_query_operator(fixture.catalog, fixture.target, op, &options, &answer, error);
  TW_CHECK(code == has_key, error->message);
  if (code == TW_OK) {
    TW_CHECK(std::string_view(key) == tw_answer_workload(answer));
    ReadAll(answer);
  }
  tw_operator_free(op);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fixture fixture;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto end = input.find('\n');
  if (end == std::string::npos) return 0;
  const std::string form = input.substr(0, end), text = input.substr(end + 1);
  tw_error error = TW_ERROR_INIT;
  tw_query_options options = TW_QUERY_OPTIONS_INIT;
  options.accept = TW_ACCEPT_MEASURED | TW_ACCEPT_DEFAULT;
  tw_answer* answer = nullptr;
  tw_code code = TW_OK;
  if (form == "autotvm") options.rule = TW_RULE_AUTOTVM;
  if (form == "epilogue") {  // a key, and in the second line an epilogue for its kernel
    const auto line = text.find('\n');
    const std::string key = text.substr(0, line);
    code = tw_query_key(fixture.catalog, fixture.target, key.c_str(), &options, &answer, &error);
    const std::string epilogue = line == std::string::npos ? "" : text.substr(line + 1);
    tw_kernel_options with = TW_KERNEL_OPTIONS_INIT;
    with.epilogue = epilogue.c_str();
    if (code == TW_OK) ReadKernel(answer, with);
    tw_answer_free(answer);
    return 0;
  }
  if (form == "key" || form == "tuple" || form == "autotvm") {
    const auto query = form == "key" ? tw_query_key : tw_query_tuple;
    code = query(fixture.catalog, fixture.target, text.c_str(), &options, &answer, &error);
    if (code == TW_OK) ReadAll(answer);
  } else if (form == "operator") {
    AskAboutOperator(fixture, text, options, &error);
  } else if (form == "target" || form == "device") {
    tw_target* target = nullptr;
    code = form == "target" ? tw_target_create(text.c_str(), kDevice, &target, &error)
                            : tw_target_create("llvm", text.c_str(), &target, &error);
    tw_target_free(target);
  }
  TW_CHECK((code == TW_OK) == (error.message[0] == '\0') || form == "operator", error.message);
  return 0;
}
