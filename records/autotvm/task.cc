// Targets and tasks of log lines: relevant options of a target, tuples of tasks, and whether a
// compiler that queries as TVM does can request a task.

#include "records/autotvm/task.h"

#include <array>
#include <map>

#include "records/autotvm/json_scanner.h"
#include "records/autotvm/tuple.h"

namespace tilewright::records {
namespace {

using Kind = AutotvmValue::Kind;

/// Default options of a kind, as the canonical text spells them.
struct Defaults {
  std::string_view kind;
  std::string_view option;
  std::string_view value;
};
constexpr std::array kDefaults = {
    Defaults{"llvm", "link-params", "0"},         Defaults{"c", "link-params", "0"},
    Defaults{"cuda", "max_num_threads", "1024"},  Defaults{"cuda", "thread_warp_size", "32"},
    Defaults{"nvptx", "max_num_threads", "1024"}, Defaults{"nvptx", "thread_warp_size", "32"},
    Defaults{"rocm", "max_num_threads", "256"},   Defaults{"rocm", "thread_warp_size", "64"},
    Defaults{"opencl", "max_num_threads", "256"}, Defaults{"metal", "max_num_threads", "256"},
    Defaults{"vulkan", "max_num_threads", "256"}, Defaults{"webgpu", "max_num_threads", "256"},
};

bool IsTensorOf(const AutotvmValue& value, std::size_t rank) {
  return value.IsTensor() && value.items[1].items.size() == rank;
}

bool IsIntsOf(const AutotvmValue& value, std::size_t count) {
  return value.IsInts() && value.items.size() == count;
}

/// Argument of a query that a compiler makes.
enum class Expected : std::uint8_t {
  kT2,
  kT3,
  kT4,
  kT6,
  kInts1,
  kInts2,
  kInts3,
  kInts4,
  kInt,
  kText,
  kNone
};

bool Fits(const AutotvmValue& value, Expected expected) {
  switch (expected) {
    case Expected::kT2:
      return IsTensorOf(value, 2);
    case Expected::kT3:
      return IsTensorOf(value, 3);
    case Expected::kT4:
      return IsTensorOf(value, 4);
    case Expected::kT6:
      return IsTensorOf(value, 6);
    case Expected::kInts1:
      return IsIntsOf(value, 1) || IsIntsOf(value, 2);  // one axis: padding of one or two items
    case Expected::kInts2:
      return IsIntsOf(value, 2);
    case Expected::kInts3:
      return IsIntsOf(value, 3);
    case Expected::kInts4:
      return IsIntsOf(value, 4);
    case Expected::kInt:
      return value.is(Kind::kInt);
    case Expected::kText:
      return value.is(Kind::kText);
    case Expected::kNone:
      return value.is(Kind::kNone);
  }
  return false;
}

/// Returns the arguments of a compiler's query, by task name (reference, 4.3).
const std::vector<Expected>* ExpectedArguments(std::string_view task) {
  using enum Expected;
  static const std::map<std::string_view, std::vector<Expected>> kByTask = [] {
    const std::vector<Expected> plain = {kT4, kT4, kInts2, kInts4, kInts2, kText};
    const std::vector<Expected> blocked = {kT4, kT4, kInts2, kInts4, kInts2, kText, kText, kText};
    const std::vector<Expected> transposed = {kT4, kT4, kInts2, kInts4, kText, kInts2};
    const std::vector<Expected> dense = {kT2, kT2, kNone, kText};
    std::map<std::string_view, std::vector<Expected>> map;
    for (std::string_view name :
         {"conv2d_nchw.cuda", "conv2d_nchw_winograd.cuda", "depthwise_conv2d_nchw.cuda",
          "depthwise_conv2d_nchw.arm_cpu", "depthwise_conv2d_nchw.mali",
          "conv2d_nchw_spatial_pack.arm_cpu", "conv2d_nchw_spatial_pack.mali",
          "conv2d_nchw_winograd.arm_cpu", "conv2d_nchw_winograd.mali", "conv2d_nchwc.image2d",
          "depthwise_conv2d_nchwc.image2d", "conv2d_nchw_winograd.image2d"}) {
      map[name] = plain;
    }
    for (std::string_view name : {"conv2d_NCHWc.x86", "conv2d_NCHWc.intel_graphics",
                                  "depthwise_conv2d_NCHWc.x86", "conv2d_NCHWc_int8.x86"}) {
      map[name] = blocked;
    }
    for (std::string_view name : {"conv2d_transpose_nchw.cuda", "conv2d_transpose_nchw.arm_cpu"}) {
      map[name] = transposed;
    }
    for (std::string_view name : {"dense_nopack.x86", "dense_pack.x86", "dense.mali",
                                  "dense_small_batch.gpu", "dense_small_batch.cuda"}) {
      map[name] = dense;
    }
    map["conv1d_transpose_nchw.cuda"] = {kT3, kT3, kInts1, kInts1, kText, kInts1};
    map["batch_matmul.cuda"] = {kT3, kT3, kInts3};
    map["conv2d_packed.vta"] = {kT6, kT6, kInts2, kInts4, kInts2, kText, kText};
    map["group_conv2d_packed.vta"] = {kT6, kT6, kInts2, kInts4, kInts2, kInt, kText};
    map["conv2d_transpose_packed.vta"] = {kT6, kT6, kInts2, kInts4, kText, kInts2};
    map["dense_packed.vta"] = {kT4, kT4, kNone, kText};
    map["add.vta"] = map["multiply.vta"] = {kT6, kT6};
    return map;
  }();
  const auto found = kByTask.find(task);
  return found == kByTask.end() ? nullptr : &found->second;
}

std::string WhyUnreachable(const AutotvmTask& task) {
  const std::vector<Expected>* expected = ExpectedArguments(task.name);
  if (expected == nullptr) return {};  // unknown task: assumed reachable
  if (task.args.size() != expected->size()) {
    return "a compiler asks with " + std::to_string(expected->size()) + " arguments, not " +
           std::to_string(task.args.size());
  }
  for (std::size_t i = 0; i < expected->size(); ++i) {
    if (!Fits(task.args[i], (*expected)[i])) {
      return "a compiler never asks with such an argument " + std::to_string(i);
    }
  }
  return {};
}

}  // namespace

Result<AutotvmInputText> AutotvmInputText::Read(const LogLine& line) {
  AutotvmInputText items;
  JsonScanner scanner(line.input);
  if (!line.legacy) scanner.Expect('[');
  items.target = scanner.Text();
  scanner.Expect(',');
  items.name = scanner.Text();
  scanner.Expect(',');
  items.args = scanner.Value();
  if (!items.args.is(Kind::kList)) scanner.Fail("a list of arguments before this");
  if (line.legacy) {
    scanner.Expect(',');
    scanner.Skip();
    scanner.Expect(',');
    items.workload = scanner.Value();
  } else {
    for (bool first = false; scanner.More(first, ']');) scanner.Skip();  // kwargs: always empty
  }
  if (!scanner.status().ok()) return scanner.status().WithContext("input");
  return items;
}

Result<AutotvmTarget> AutotvmTarget::Parse(std::string_view text) {
  AutotvmTarget result;
  result.text = text;
  TW_ASSIGN_OR_RETURN(result.target, Target::Parse(text));
  std::map<std::string, std::string> options = result.target.options();
  options.erase("keys");
  for (const Defaults& defaults : kDefaults) {
    if (defaults.kind != result.kind()) continue;
    options.emplace(std::string(defaults.option), std::string(defaults.value));
  }
  result.canonical = result.kind();
  std::string keys;
  for (const std::string& key : result.keys()) keys += (keys.empty() ? "" : ",") + key;
  if (!keys.empty()) result.canonical += " -keys=" + keys;
  for (const auto& [name, value] : options) result.canonical += " -" + name + "=" + value;
  return result;
}

AutotvmTask AutotvmTask::Make(std::string name, std::vector<AutotvmValue> args) {
  AutotvmTask task;
  task.name = std::move(name);
  task.args = std::move(args);
  task.tuple = PythonTuple(task.name, task.args);
  for (const AutotvmValue& arg : task.args) {
    const bool tagged = arg.is(Kind::kList) && !arg.items.empty() && arg.items[0].text == "TENSOR";
    task.malformed_tensor = task.malformed_tensor || (tagged && !arg.IsTensor());
  }
  if (auto workload = ParseAutotvmTuple(task.tuple); workload.ok()) {
    task.workload = *std::move(workload);
  }
  task.unreachable = WhyUnreachable(task);
  return task;
}

Result<AutotvmTask> AutotvmTask::Parse(std::string_view tuple) {
  TW_ASSIGN_OR_RETURN(auto value, ParseAutotvmValue(tuple));
  if (!value.is(Kind::kList) || value.items.empty() || !value.items[0].is(Kind::kText)) {
    return InvalidArgument("AutoTVM tuple: expected ('task name', argument, …)");
  }
  // A list as in a log: [target, name, [arguments], {}], or its middle part.
  if (value.items.size() == 4 && value.items[1].is(Kind::kText) && value.items[2].is(Kind::kList)) {
    value.items.erase(value.items.begin());
    value.items.pop_back();
  }
  std::string name = value.items[0].text;
  const bool nested = value.items.size() == 2 && value.items[1].is(Kind::kList) &&
                      !value.items[1].items.empty() && value.items[1].items[0].is(Kind::kList);
  if (nested) {
    std::vector<AutotvmValue> arguments = std::move(value.items[1].items);
    return Make(std::move(name), std::move(arguments));
  }
  value.items.erase(value.items.begin());
  return Make(std::move(name), std::move(value.items));
}

Result<AutotvmTask> AutotvmInputText::Task(const LogLine& line, const AutotvmTarget& of) && {
  if (line.legacy) {
    TW_RETURN_IF_ERROR(UpgradeLegacyTask(of, line.legacy_template, workload, name, args.items));
  }
  if (name.empty()) return InvalidArgument("input: empty task name");
  return AutotvmTask::Make(std::move(name), std::move(args.items));
}

Result<AutotvmInput> ParseAutotvmInput(const LogLine& line) {
  TW_ASSIGN_OR_RETURN(auto items, AutotvmInputText::Read(line));
  TW_ASSIGN_OR_RETURN(auto target, AutotvmTarget::Parse(items.target));
  TW_ASSIGN_OR_RETURN(auto task, std::move(items).Task(line, target));
  return AutotvmInput{std::move(target), std::move(task)};
}

}  // namespace tilewright::records
