// Open tasks: refused parts, canonical texts and keys, and the words that a config becomes.

#include "src/templates/open/open_task.h"

#include <gtest/gtest.h>

#include "src/templates/device.h"
#include "src/templates/open/open_template.h"
#include "src/tensor/open_workload.h"

namespace tilewright {
namespace {

constexpr const char* kSpace = R"({"General": {"BenchmarkName": "conv"}, "ConfigurationSpace": {
  "TuningParameters": [
    {"Name": "block", "Type": "int", "Values": [8, 16, 32], "Default": 16},
    {"Name": "scale", "Type": "float", "Values": [0.5, 1.5], "Default": 0.5},
    {"Name": "mode", "Type": "string", "Values": ["a b", "c"], "Default": "c"},
    {"Name": "fast", "Type": "bool", "Values": [true, false], "Default": true}],
  "Conditions": [{"Expression": "block < 32 or not fast", "Parameters": ["block", "fast"]}]}})";

OpenTaskParts Parts() {
  OpenTaskParts parts;
  parts.name = "conv";
  parts.space = *OpenSpace::ParseT1(kSpace);
  parts.command = {"./bench.sh", "{block}", "-s={scale}", "{{x}}", "{mode}"};
  return parts;
}

std::string ErrorOf(OpenTaskParts parts) {
  return MakeOpenTask(std::move(parts)).status().message();
}

TEST(OpenTaskTest, TextKeyAndWorkloadRoundTrip) {
  OpenTaskParts parts = Parts();
  parts.build = {"make", "{out}"};
  parts.check = {"./check", "{out}"};
  parts.environment = {{"THREADS", "{block}"}};
  parts.metrics = {"seconds", "size[B]"};
  const auto task = MakeOpenTask(parts);
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_TRUE(task->key.starts_with("open/conv-"));
  EXPECT_EQ(task->target().ToString(), "program -metrics=seconds,size[B]");
  EXPECT_EQ(MetricsOf(task->target()), parts.metrics);
  const auto again = ParseOpenTask(task->text, "text");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->text, task->text);
  EXPECT_EQ(again->key, task->key);
  EXPECT_EQ(again->workload, task->workload);
  const auto workload = Workload::Parse(task->workload.Key());
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(*workload, task->workload);
  EXPECT_EQ(workload->op_name(), "open");
  EXPECT_EQ(workload->macs(), 0);
  EXPECT_FALSE(workload->OutputType().ok());
  EXPECT_FALSE(workload->OutputLayout().ok());
}

TEST(OpenTaskTest, TheTaskDependsOnTheCommandAndTheTemplateAlsoOnTheSpace) {
  OpenTaskParts other_space = Parts(), other_command = Parts();
  other_space.space = *OpenSpace::Create("conv", {Parts().space.parameters()}, {});
  other_command.command.push_back("more");
  const auto task = MakeOpenTask(Parts()), space = MakeOpenTask(other_space),
             command = MakeOpenTask(other_command);
  EXPECT_EQ(space->workload, task->workload);
  EXPECT_NE(space->key, task->key);
  EXPECT_NE(command->workload, task->workload);
}

TEST(OpenTaskTest, ConfigsEnterCommands) {
  OpenTaskParts parts = Parts();
  const auto task = MakeOpenTask(parts);
  const Config config = task->knobs.At(task->space.IndexOf(task->space.Default()));
  EXPECT_EQ(ExpandWords(*task, task->command, config, ""),
            (std::vector<std::string>{"./bench.sh", "16", "-s=0.5", "{x}", "c"}));
  EXPECT_EQ(ConfigJson(*task, config), R"({"block":16,"scale":0.5,"mode":"c","fast":true})");
  parts.shell = true;
  parts.command = {"echo {mode} | cat"};
  const auto shell = MakeOpenTask(parts);
  Config other = config;
  other.values[2].second.value = "a b";
  EXPECT_EQ(ExpandWords(*shell, shell->command, other, ""),
            (std::vector<std::string>{"/bin/sh", "-c", "echo 'a b' | cat"}));
}

TEST(OpenTaskTest, NamesTheWrongPart) {
  OpenTaskParts parts = Parts();
  parts.name = "a name with blanks";
  EXPECT_EQ(ErrorOf(parts),
            "name: 'a name with blanks', expected 1 to 18 letters, digits, '_' and '-'");
  parts = Parts();
  parts.command = {};
  EXPECT_EQ(ErrorOf(parts), "command: none is given");
  parts.command = {"{blok}"};
  EXPECT_EQ(ErrorOf(parts),
            "command: {blok} is not a parameter, expected one of {block}, {scale}, {mode}, {fast}");
  parts.command = {R"(echo {"seconds": 1})"};
  EXPECT_NE(ErrorOf(parts).find("{fast}; for braces, write {{ and }}"), std::string::npos);
  parts.command = {"{out}"};
  EXPECT_NE(ErrorOf(parts).find("{out} needs a --build command"), std::string::npos);
  parts.command = {"a}b"};
  EXPECT_EQ(ErrorOf(parts), "command: 'a}b': a single }, expected {NAME}, or }} for the character");
  parts = Parts();
  parts.input = OpenInput::kServer;
  EXPECT_NE(ErrorOf(parts).find("stays alive"), std::string::npos);
  parts = Parts();
  parts.metrics = {"seconds", "seconds"};
  EXPECT_EQ(ErrorOf(parts), "metric: seconds twice");
  parts.metrics = {"a b"};
  EXPECT_EQ(ErrorOf(parts), "metric: 'a b', expected NAME, NAME[UNIT] or 1/NAME");
}

TEST(OpenTaskTest, ValuesInAShellAreNotInQuotes) {
  OpenTaskParts parts = Parts();
  parts.shell = true;
  parts.command = {"./b '{mode}'"};
  EXPECT_EQ(ErrorOf(parts), "command: write {mode} without quotes: values are quoted");
  parts.command = {"true"};
  parts.check = {"./b \"{block} {mode}\""};
  EXPECT_EQ(ErrorOf(parts), "check: write {block} without quotes: values are quoted");
  parts.check = {"cat <<END\n{mode}\nEND"};
  EXPECT_NE(ErrorOf(parts).find("expected it before, or $TILEWRIGHT_mode"), std::string::npos);
  parts.check = {"./b '{{mode}}' {mode}"};
  parts.environment = {{"MODE", "{mode}"}};
  const auto task = MakeOpenTask(parts);
  ASSERT_TRUE(task.ok()) << task.status().message();
  // A variable is no text for the shell.
  EXPECT_EQ(ExpandWord("{mode}", task->knobs.At(0), ""), "a b");
}

TEST(OpenTaskTest, NamesOfVariablesAreUnique) {
  OpenTaskParts parts = Parts();
  parts.environment = {{"A", "1"}, {"A", "2"}};
  EXPECT_EQ(ErrorOf(parts), "env: A twice");
  parts.environment = {{"TILEWRIGHT_OUT", "1"}};
  EXPECT_NE(ErrorOf(parts).find("reserved"), std::string::npos);
  parts.environment = {{"A", "{block}"}};
  parts.command = {"true"};
  parts.input = OpenInput::kServer;
  EXPECT_NE(ErrorOf(parts).find("env A: {block}: a process that stays alive"), std::string::npos);
  for (const std::string name : {"out", "OUT", "Out", "CONFIG", "RUN"}) {
    parts = Parts();
    Parameter parameter;
    parameter.name = name;
    parameter.values = {std::int64_t{1}};
    parts.space = *OpenSpace::Create("s", {parameter}, {});
    parts.command = {"true"};
    EXPECT_TRUE(ErrorOf(parts).starts_with("space: a parameter is named '" + name)) << name;
  }
}

TEST(OpenTaskTest, ValuesContainNoZeroByte) {
  OpenTaskParts parts = Parts();
  Parameter parameter;
  parameter.name = "text";
  parameter.type = ParameterType::kText;
  parameter.values = {std::string("a\0b", 3)};
  const auto space = OpenSpace::Create("s", {parameter}, {});
  ASSERT_TRUE(space.ok());
  parts.space = *space;
  parts.command = {"true"};
  EXPECT_EQ(ErrorOf(parts), "space: a value of text contains a zero byte");
}

TEST(OpenTaskTest, OnlyTheCanonicalTextIsRead) {
  const auto task = MakeOpenTask(Parts());
  EXPECT_FALSE(ParseOpenTask(task->text + " ", "text").ok());
  EXPECT_FALSE(ParseOpenTask("{}", "text").ok());
  EXPECT_FALSE(ParseOpenTask("[1]", "text").ok());
}

TEST(OpenTaskTest, TemplateServesItsTaskAndChecksConditions) {
  TemplateRegistry templates = TemplateRegistry::BuiltIn();
  const auto task = MakeOpenTask(Parts());
  ASSERT_TRUE(AddOpenTask(templates, *task).ok());
  ASSERT_TRUE(AddOpenTaskText(templates, task->key, task->text, "text").ok());
  EXPECT_FALSE(AddOpenTaskText(templates, "open/conv-0", task->text, "text").ok());
  const auto entries = templates.For(task->workload, task->target());
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0]->key, task->key);
  ASSERT_NE(entries[0]->open, nullptr);
  EXPECT_EQ(entries[0]->open->text, task->text);
  EXPECT_EQ(FindOpenTask(templates, task->workload), entries[0]->open);
  EXPECT_EQ(*templates.TextOf(task->key), task->text);
  const auto space = entries[0]->define_space(task->workload, task->target());
  EXPECT_EQ(space->size(), 24);
  EXPECT_EQ(entries[0]->default_config(task->workload, task->target())->Integer("block"), 16);
  Config forbidden = space->At(2);  // block 32, fast
  EXPECT_EQ(entries[0]->apply(task->workload, {}, task->target(), forbidden).status().message(),
            "the condition block < 32 or not fast");
  // Builders, also those of a fleet, make nothing of it: only `tune` runs commands.
  EXPECT_EQ(entries[0]->apply(task->workload, {}, task->target(), space->At(0)).status().code(),
            StatusCode::kUnsupported);
  EXPECT_TRUE(templates.For(OpenWorkload("conv", std::string(40, 'a')), task->target()).empty());
}

TEST(OpenTaskTest, OtherKeysAreNoWorkloads) {
  for (const char* key :
       {"open()", "open(a,b)", "open(a b,0123456789012345678901234567890123456789)",
        "open(conv,0123456789012345678901234567890123456789"}) {
    EXPECT_FALSE(Workload::Parse(key).ok()) << key;
  }
}

}  // namespace
}  // namespace tilewright
