// query_cc STORE: describes a convolution, asks for its best config from several threads over one
// handle and prints the tiling. C++17; the library's objects are held by unique_ptr.

#include <tilewright/tilewright.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Free {
  void operator()(tw_catalog* p) const { tw_catalog_free(p); }
  void operator()(tw_target* p) const { tw_target_free(p); }
  void operator()(tw_operator* p) const { tw_operator_free(p); }
  void operator()(tw_answer* p) const { tw_answer_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

void Check(tw_code code, const tw_error& error) {
  if (code != TW_OK) throw std::runtime_error(error.message);
}

/// Makes an object: Make<tw_target>(tw_target_create, nullptr, nullptr).
template <typename T, typename Function, typename... Arguments>
Owned<T> Make(Function function, Arguments... arguments) {
  tw_error error = TW_ERROR_INIT;
  T* made = nullptr;
  Check(function(arguments..., &made, &error), error);
  return Owned<T>(made);
}

Owned<tw_operator> DescribeConvolution() {
  auto op = Make<tw_operator>(tw_operator_create, "conv2d");
  tw_error error = TW_ERROR_INIT;
  const std::vector<std::int64_t> data = {1, 64, 56, 56}, weight = {64, 64, 3, 3}, padding = {1};
  Check(tw_operator_add_tensor(op.get(), "float32", data.data(), data.size(), &error), error);
  Check(tw_operator_add_tensor(op.get(), "float32", weight.data(), weight.size(), &error), error);
  Check(tw_operator_set_integers(op.get(), "padding", padding.data(), padding.size(), &error),
        error);
  return op;
}

std::string Tiling(const tw_answer* answer) {
  std::string text = tw_kind_name(tw_answer_kind(answer));
  for (std::size_t i = 0; i < tw_answer_knob_count(answer); ++i) {
    tw_knob knob = TW_KNOB_INIT;
    if (tw_answer_knob(answer, i, &knob, nullptr) != TW_OK) continue;
    if (knob.value_type != TW_VALUE_INTEGERS) continue;
    text += std::string("; ") + knob.name + ":";
    for (std::size_t k = 0; k < knob.count; ++k) text += " " + std::to_string(knob.integers[k]);
  }
  return text;
}

int Main(const char* store) {
  const auto catalog = Make<tw_catalog>(tw_catalog_create);
  tw_error error = TW_ERROR_INIT;
  Check(tw_catalog_add_store(catalog.get(), store, &error), error);
  const auto target = Make<tw_target>(tw_target_create, nullptr, nullptr);

  std::vector<std::string> lines(4);
  std::vector<std::thread> threads;
  for (std::string& line : lines) {
    threads.emplace_back([&catalog, &target, &line] {
      try {
        const auto op = DescribeConvolution();  // one description per thread
        const auto answer =
            Make<tw_answer>(tw_query_operator, catalog.get(), target.get(), op.get(), nullptr);
        line = Tiling(answer.get());
      } catch (const std::exception& failure) {
        line = failure.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& line : lines) {
    if (line != lines.front()) throw std::runtime_error("the threads disagree");
  }
  std::printf("%s\n", lines.front().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: query_cc STORE\n");
    return 2;
  }
  try {
    return Main(argv[1]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
