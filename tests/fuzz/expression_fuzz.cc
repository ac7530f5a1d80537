// Texts of expressions and keys of workloads: parsing neither crashes nor takes long, and valid
// input is written to a text that parses to the same value.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/tensor/expression/collapse.h"
#include "src/tensor/expression/expression.h"
#include "src/tensor/workload.h"

using namespace tilewright;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expression = ParseExpression(text);
  if (!expression.ok()) return 0;
  const auto again = ParseExpression(PrintExpression(*expression));
  TW_CHECK(again.ok() && *again == *expression, "an expression is not read back as it was");
  const Workload workload = Workload::FromExpression(*expression);
  const auto parsed = Workload::Parse(workload.Key());
  TW_CHECK(parsed.ok() && *parsed == workload, "a canonical text is not its own");
  TW_CHECK(Collapsed(*expression).result().elements() == expression->result().elements(), "size");
  return 0;
}
