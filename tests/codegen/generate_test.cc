// Guarantees of Generate and LinkShared in addition to correct results: no spills in register
// tiles, errors instead of aborts, self-contained artifacts, other targets.

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <regex>
#include <thread>

#include "src/base/strings.h"
#include "src/runtime/abi.h"
#include "tests/codegen/kernel_runner.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

Program Increment(const std::string& name, std::int64_t n) {
  const Buffer a = MakeBuffer("a", kFloat32, {n});
  const Buffer b = MakeBuffer("b", kFloat32, {n});
  const Expr i = MakeVar("i");
  const Expr value = MakeLoad(a, {i}) + MakeFloat(kFloat32, 1);
  return {name, {a, b}, 1, MakeFor(i, n, LoopKind::kVectorized, MakeStore(b, {i}, value))};
}

Target ParseTarget(const char* text) { return *Target::Parse(text); }

/// Inner loop of a direct convolution: `rows` output columns x `vectors` registers of channels.
Program ConvTile(std::int64_t lanes, std::int64_t rows, std::int64_t vectors, LoopKind inner) {
  const std::int64_t columns = rows * 4;
  const Buffer in = MakeBuffer("in", kFloat32, {4, columns + 2, lanes});
  const Buffer weight = MakeBuffer("weight", kFloat32, {vectors, 4, 3, lanes, lanes});
  const Buffer out = MakeBuffer("out", kFloat32, {vectors, columns, lanes});
  const Buffer acc = MakeBuffer("acc", kFloat32, {rows, vectors, lanes}, Scope::kLocal);
  const Expr o = MakeVar("o"), c = MakeVar("c"), k = MakeVar("k"), i = MakeVar("i");
  auto each = [&](const std::function<Stmt(Expr, Expr, Expr)>& body) {
    const Expr x = MakeVar("x"), b = MakeVar("b"), v = MakeVar("v");
    const Stmt vector = MakeFor(v, lanes, LoopKind::kVectorized, body(x, b, v));
    const Stmt blocks = MakeFor(b, vectors, LoopKind::kUnrolled, vector);
    return MakeFor(x, rows, LoopKind::kUnrolled, blocks);
  };
  const Stmt clear = each([&](const Expr& x, const Expr& b, const Expr& v) {
    return MakeStore(acc, {x, b, v}, MakeFloat(kFloat32, 0));
  });
  const Stmt sum = each([&](const Expr& x, const Expr& b, const Expr& v) {
    return MakeStore(acc, {x, b, v},
                     MakeLoad(acc, {x, b, v}) + MakeLoad(in, {c, o * rows + x + k, i}) *
                                                    MakeLoad(weight, {b, c, k, i, v}));
  });
  const Stmt copy = each([&](const Expr& x, const Expr& b, const Expr& v) {
    return MakeStore(out, {b, o * rows + x, v}, MakeLoad(acc, {x, b, v}));
  });
  const Stmt taps = MakeFor(k, 3, LoopKind::kSerial, MakeFor(i, lanes, inner, sum));
  std::vector<Stmt> steps = {clear, MakeFor(c, 4, LoopKind::kSerial, taps), copy};
  return {"tile",
          {in, weight, out},
          1,
          MakeFor(o, 4, LoopKind::kSerial, MakeAllocate(acc, MakeBlock(std::move(steps))))};
}

struct TileCase {
  const char* name;
  const char* target;
  int lanes, rows, vectors;
  LoopKind inner;
};
class TileTest : public testing::TestWithParam<TileCase> {};

/// Code that multiplies and adds vectors neither loads vectors from the stack nor stores them
/// there.
TEST_P(TileTest, KeepsItsAccumulatorsInRegisters) {
  const TileCase& c = GetParam();
  const Result<std::string> text = Generate({ConvTile(c.lanes, c.rows, c.vectors, c.inner)},
                                            ParseTarget(c.target), Emit::kAssembly);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const std::regex stack_vector("[xyz]mm[0-9]+.*\\(%rsp\\)|\\(%rsp\\).*[xyz]mm[0-9]+");
  int multiply_adds = 0;
  for (const std::string& line : Split(*text, '\n')) {
    if (line.find("vfmadd") != std::string::npos) ++multiply_adds;
    EXPECT_FALSE(std::regex_search(line, stack_vector)) << line;
  }
  const int copies = c.inner == LoopKind::kUnrolled ? c.lanes : 1;
  EXPECT_EQ(multiply_adds, c.rows * c.vectors * copies);
}

constexpr const char* kAvx512 = "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512";
constexpr const char* kAvx2 = "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2";
INSTANTIATE_TEST_SUITE_P(
    Tiles, TileTest,
    testing::Values(TileCase{"Avx512By7x4", kAvx512, 16, 7, 4, LoopKind::kSerial},
                    TileCase{"Avx512By14x2", kAvx512, 16, 14, 2, LoopKind::kSerial},
                    TileCase{"Avx512By28x1", kAvx512, 16, 28, 1, LoopKind::kSerial},
                    TileCase{"Avx512By14x2Unrolled", kAvx512, 16, 14, 2, LoopKind::kUnrolled},
                    TileCase{"Avx2By3x4", kAvx2, 8, 3, 4, LoopKind::kSerial},
                    TileCase{"Avx2By6x2", kAvx2, 8, 6, 2, LoopKind::kSerial},
                    TileCase{"Avx2By7x2", kAvx2, 8, 7, 2, LoopKind::kSerial},
                    TileCase{"Avx2By6x2Unrolled", kAvx2, 8, 6, 2, LoopKind::kUnrolled}),
    [](const auto& tested) { return tested.param.name; });

/// The remainder of a row is read by one masked load, instead of by eight lanes, then four, and so
/// on.
TEST(GenerateTest, ReadsTheRestOfARowAtOnce) {
  const auto text = Generate({Increment("rest", 30)}, ParseTarget(kAvx512), Emit::kAssembly);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr("{%k1} {z}"));
  const auto narrow = Generate({Increment("rest", 14)}, ParseTarget(kAvx2), Emit::kAssembly);
  ASSERT_TRUE(narrow.ok()) << narrow.status().message();
  EXPECT_THAT(*narrow, HasSubstr("%ymm"));
}

/// Rows of a 3x3 depthwise convolution, one below the other, with all taps unrolled.
Program WindowTile(std::int64_t rows, bool rows_first) {
  const Buffer in = MakeBuffer("in", kFloat32, {rows + 2, 64});
  const Buffer weight = MakeBuffer("weight", kFloat32, {3, 3});
  const Buffer out = MakeBuffer("out", kFloat32, {rows, 32});
  const Buffer acc = MakeBuffer("acc", kFloat32, {rows, 16}, Scope::kLocal);
  const Expr o = MakeVar("o"), r = MakeVar("r"), s = MakeVar("s");
  const auto each = [&](const std::function<Stmt(Expr, Expr)>& body) {
    const Expr y = MakeVar("y"), v = MakeVar("v");
    return MakeFor(y, rows, LoopKind::kUnrolled, MakeFor(v, 16, LoopKind::kVectorized, body(y, v)));
  };
  const Stmt clear = each([&](const Expr& y, const Expr& v) {
    return MakeStore(acc, {y, v}, MakeFloat(kFloat32, 0));
  });
  const Stmt sum = each([&](const Expr& y, const Expr& v) {
    return MakeStore(
        acc, {y, v},
        MakeLoad(acc, {y, v}) + MakeLoad(in, {y + r, o * 16 + v + s}) * MakeLoad(weight, {r, s}));
  });
  const Stmt copy = each([&](const Expr& y, const Expr& v) {
    return MakeStore(out, {y, o * 16 + v}, MakeLoad(acc, {y, v}));
  });
  const Expr& outer = rows_first ? r : s;
  const Expr& inner = rows_first ? s : r;
  const Stmt taps =
      MakeFor(outer, 3, LoopKind::kUnrolled, MakeFor(inner, 3, LoopKind::kUnrolled, sum));
  return {"window",
          {in, weight, out},
          1,
          MakeFor(o, 2, LoopKind::kSerial, MakeAllocate(acc, MakeBlock({clear, taps, copy})))};
}

/// A data row is read once for each column of the window, for all sums that use it.
TEST(GenerateTest, ReadsTheDataOfWindowsOnce) {
  const std::regex load("\\(.*\\), %zmm"),
      stack("[xyz]mm[0-9]+.*\\(%rsp\\)|\\(%rsp\\).*[xyz]mm[0-9]+");
  for (const bool rows_first : {true, false}) {
    const auto text = Generate({WindowTile(12, rows_first)}, ParseTarget(kAvx512), Emit::kAssembly);
    ASSERT_TRUE(text.ok()) << text.status().message();
    int reads = 0;
    for (const std::string& line : Split(*text, '\n')) {
      EXPECT_FALSE(std::regex_search(line, stack)) << line;
      const bool scalar =
          line.find("broadcast") != std::string::npos || line.find("1to16") != std::string::npos;
      if (!scalar && std::regex_search(line, load)) ++reads;
    }
    EXPECT_EQ(reads, (12 + 2) * 3);
  }
}

TEST(GenerateTest, WritesIrAssemblyAndObjects) {
  const Target target = ParseTarget(kAvx2);
  const std::vector<Program> programs = {Increment("first", 8), Increment("second", 9)};
  EXPECT_THAT(*Generate(programs, target, Emit::kLlvmIr), HasSubstr("@second"));
  EXPECT_THAT(*Generate(programs, target, Emit::kAssembly), HasSubstr("first_info:"));
  EXPECT_EQ(Generate(programs, target, Emit::kObject)->substr(1, 3), "ELF");
}

/// Four serial iterations of one addition each, with attributes on the loop.
Program SerialSum(std::map<std::string, std::int64_t> attributes) {
  const Buffer a = MakeBuffer("a", kFloat32, {4, 8});
  const Buffer b = MakeBuffer("b", kFloat32, {8});
  const Expr i = MakeVar("i"), j = MakeVar("j");
  const Stmt add = MakeStore(b, {j}, MakeLoad(b, {j}) + MakeLoad(a, {i, j}));
  auto prefetch = std::make_shared<StmtNode>();
  prefetch->kind = StmtKind::kPrefetch;
  prefetch->buffer = a;
  prefetch->indices = {i + 1, Expr(0)};
  prefetch->attributes = {{"locality", 3}};
  std::vector<Stmt> body = {Stmt(prefetch), MakeFor(j, 8, LoopKind::kVectorized, add)};
  return {"sum",
          {a, b},
          1,
          MakeFor(i, 4, LoopKind::kSerial, MakeBlock(std::move(body)), std::move(attributes))};
}

int CountOf(const std::string& text, const std::string& wanted) {
  int count = 0;
  for (std::size_t at = text.find(wanted); at != std::string::npos;
       at = text.find(wanted, at + 1)) {
    ++count;
  }
  return count;
}

TEST(GenerateTest, PrefetchesAndUnrollsAsTold) {
  const Target target = ParseTarget(kAvx2);
  const struct {
    std::int64_t max_step;
    int copies;
  } cases[] = {{0, 1}, {3, 1}, {4, 4}, {100, 4}};
  for (const auto& c : cases) {
    const Result<std::string> text =
        Generate({SerialSum({{"auto_unroll_max_step", c.max_step}})}, target, Emit::kAssembly);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_EQ(CountOf(*text, "vaddps"), c.copies) << c.max_step;
    EXPECT_EQ(CountOf(*text, "prefetcht0"), c.copies) << c.max_step;
  }
}

TEST(GenerateTest, GivesTheSameBytesTwice) {
  const Target target = ParseTarget(kAvx512);
  const Program program = ConvTile(16, 7, 2, LoopKind::kSerial);
  EXPECT_EQ(*Generate({program}, target, Emit::kObject),
            *Generate({program}, target, Emit::kObject));
}

TEST(GenerateTest, TellsHowLongEachPartTook) {
  BuildTimes times;
  const Result<std::string> object =
      Generate({Increment("timed", 100)}, ParseTarget(kAvx2), Emit::kObject, &times);
  ASSERT_TRUE(object.ok());
  EXPECT_GT(times.ir_seconds, 0);
  EXPECT_GT(times.optimize_seconds, 0);
  EXPECT_GT(times.codegen_seconds, 0);
  EXPECT_EQ(times.link_seconds, 0);
}

TEST(GenerateTest, WritesCodeForOtherProcessors) {
  const Result<std::string> text =
      Generate({ConvTile(4, 6, 4, LoopKind::kSerial)},
               ParseTarget("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"), Emit::kAssembly);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr("fmla"));
}

TEST(GenerateTest, AnnouncesTheInterfaceVersionOfTheRuntime) {
  Result<KernelRunner> kernel =
      KernelRunner::Build(Increment("versioned", 3), ParseTarget("llvm -mcpu=x86-64"));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ(kernel->entry().info.abi_version, TW_ABI_VERSION);
  EXPECT_EQ(kernel->entry().info.parameters, 2u);
}

struct Rejection {
  const char* name;
  const char* target;
  Program program;
  StatusCode code;
  const char* message;
};
class RejectionTest : public testing::TestWithParam<Rejection> {};

TEST_P(RejectionTest, IsAStatus) {
  const Rejection& c = GetParam();
  const Result<std::string> object = Generate({c.program}, ParseTarget(c.target), Emit::kObject);
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.status().code(), c.code);
  EXPECT_THAT(object.status().message(), HasSubstr(c.message));
}

Program WithBody(const std::function<Stmt(const Buffer&, const Expr&)>& body) {
  const Buffer out = MakeBuffer("out", kFloat32, {8});
  const Expr i = MakeVar("i");
  return {"bad", {out}, 1, body(out, i)};
}

Stmt StoreOne(const Buffer& out, std::vector<Expr> indices) {
  return MakeStore(out, std::move(indices), MakeFloat(kFloat32, 1));
}

INSTANTIATE_TEST_SUITE_P(
    Programs, RejectionTest,
    testing::Values(
        Rejection{"Name", kAvx2, Increment("no name", 4), StatusCode::kInvalidArgument,
                  "is not a C identifier"},
        Rejection{"UnboundVariable", kAvx2,
                  WithBody([](const Buffer& out, const Expr& i) { return StoreOne(out, {i}); }),
                  StatusCode::kInvalidArgument, "variable i is used outside of its loop"},
        Rejection{"UnknownBuffer", kAvx2, WithBody([](const Buffer&, const Expr&) {
                    return StoreOne(MakeBuffer("lost", kFloat32, {1}), {Expr(0)});
                  }),
                  StatusCode::kInvalidArgument, "lost is accessed outside of its allocation"},
        Rejection{"Intrinsic", kAvx2, WithBody([](const Buffer& out, const Expr&) {
                    return MakeIntrinsic("dot9.x", {{out, {Expr(0)}, {1}}});
                  }),
                  StatusCode::kUnsupported, "dot9.x"},
        Rejection{"Call", kAvx2, WithBody([](const Buffer& out, const Expr&) {
                    const Expr call = MakeCall(kFloat32, "magic", {MakeFloat(kFloat32, 1)});
                    return MakeStore(out, {Expr(0)}, call);
                  }),
                  StatusCode::kUnsupported, "magic"},
        Rejection{"GpuLoop", kAvx2, WithBody([](const Buffer& out, const Expr& i) {
                    return MakeFor(i, 8, LoopKind::kThreadX, StoreOne(out, {i}));
                  }),
                  StatusCode::kUnsupported, "bound to a GPU index"},
        Rejection{"Processor", "llvm -mcpu=z80000", Increment("fine", 4),
                  StatusCode::kInvalidArgument, "z80000"},
        Rejection{"Kind", "vta", Increment("fine", 4), StatusCode::kUnsupported, "vta"}),
    [](const auto& tested) { return tested.param.name; });

TEST(LinkTest, MakesLibrariesOfSeveralKernels) {
  const Result<ScopedTempDir> folder = ScopedTempDir::Create("link-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/two.so";
  const Target target = ParseTarget("llvm -mcpu=x86-64");
  const Result<std::string> one = Generate({Increment("one", 4)}, target, Emit::kObject);
  const Result<std::string> two = Generate({Increment("two", 5)}, target, Emit::kObject);
  ASSERT_TRUE(LinkShared({*one, *two}, {}, path).ok());
  const Result<SharedLibrary> library = SharedLibrary::Open(path);
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_TRUE(FindKernel(*library, "one").ok());
  EXPECT_TRUE(FindKernel(*library, "two").ok());
  const Status missing = FindKernel(*library, "three").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("no kernel three"));
}

/// Returns the entries of an ELF library's table at `offset`.
template <typename Entry>
std::vector<Entry> ElfEntries(const std::string& bytes, std::uint64_t offset, std::size_t count) {
  std::vector<Entry> entries(count);
  EXPECT_LE(offset + count * sizeof(Entry), bytes.size());
  std::memcpy(entries.data(), bytes.data() + offset, count * sizeof(Entry));
  return entries;
}

TEST(LinkTest, TablesOfAddressesAreNotWritableOnceTheLibraryIsLoaded) {
  const Result<ScopedTempDir> folder = ScopedTempDir::Create("link-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/one.so";
  const Result<std::string> one =
      Generate({Increment("one", 4)}, ParseTarget("llvm -mcpu=x86-64"), Emit::kObject);
  ASSERT_TRUE(LinkShared({*one}, {}, path).ok());
  const Result<std::string> bytes = ReadFile(path);
  ASSERT_TRUE(bytes.ok());
  const Elf64_Ehdr header = ElfEntries<Elf64_Ehdr>(*bytes, 0, 1).front();
  bool relro = false, now = false;
  for (const Elf64_Phdr& part : ElfEntries<Elf64_Phdr>(*bytes, header.e_phoff, header.e_phnum)) {
    relro = relro || part.p_type == PT_GNU_RELRO;
    if (part.p_type != PT_DYNAMIC) continue;
    for (const Elf64_Dyn& entry :
         ElfEntries<Elf64_Dyn>(*bytes, part.p_offset, part.p_filesz / sizeof(Elf64_Dyn))) {
      now = now || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_BIND_NOW) != 0);
    }
  }
  EXPECT_TRUE(relro);
  EXPECT_TRUE(now);
}

TEST(LinkTest, WorksOnSeveralThreadsAtOnce) {
  const Result<ScopedTempDir> folder = ScopedTempDir::Create("link-test");
  ASSERT_TRUE(folder.ok());
  std::vector<std::thread> builders;
  for (int t = 0; t < 4; ++t) {
    builders.emplace_back([&, t] {
      const std::string name = "kernel" + std::to_string(t);
      const std::string path = folder->path() + "/" + name + ".so";
      for (int round = 0; round < 5; ++round) {
        const Result<std::string> object =
            Generate({Increment(name, 4 + t)}, ParseTarget("llvm -mcpu=x86-64"), Emit::kObject);
        ASSERT_TRUE(object.ok()) << object.status().message();
        ASSERT_TRUE(LinkShared({*object}, {}, path).ok());
      }
      EXPECT_TRUE(LoadKernel(path, name).ok());
    });
  }
  for (std::thread& builder : builders) builder.join();
}

TEST(GenerateTest, HalfPrecisionOnTheWayNeedsConversionsToo) {
  const Buffer a = MakeBuffer("a", kFloat32, {4});
  const Buffer b = MakeBuffer("b", kFloat32, {4});
  const Expr i = MakeVar("i");
  const Expr rounded = MakeCast(kFloat32, MakeCast(kFloat16, MakeLoad(a, {i})));
  const Program program{
      "rounds", {a, b}, 1, MakeFor(i, 4, LoopKind::kSerial, MakeStore(b, {i}, rounded))};
  EXPECT_THAT(
      Generate({program}, ParseTarget("llvm -mcpu=x86-64"), Emit::kObject).status().message(),
      HasSubstr("float16 on a CPU without conversions"));
  EXPECT_TRUE(
      Generate({program}, ParseTarget("llvm -mcpu=x86-64 -mattr=+f16c"), Emit::kObject).ok());
}

TEST(LinkTest, RefusesKernelsOfAnotherInterfaceVersion) {
  const Result<ScopedTempDir> folder = ScopedTempDir::Create("link-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/old.so";
  Result<std::string> object =
      Generate({Increment("old", 4)}, ParseTarget("llvm -mcpu=x86-64"), Emit::kObject);
  ASSERT_TRUE(object.ok());
  // old_info begins with two 32-bit numbers: the version and the number of parameters.
  const std::string info("\x01\0\0\0\x02\0\0\0", 8);
  const std::size_t at = object->find(info);
  ASSERT_NE(at, std::string::npos);
  (*object)[at] = 9;
  ASSERT_TRUE(LinkShared({*object}, {}, path).ok());
  const Status status = LoadKernel(path, "old").status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("interface version 9, expected 1"));
}

TEST(LinkTest, NamesWhatIsMissing) {
  const Result<ScopedTempDir> folder = ScopedTempDir::Create("link-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/out.so";
  EXPECT_THAT(LinkShared({"no object at all"}, {}, path).message(), HasSubstr("linking"));
  const Result<std::string> object =
      Generate({Increment("fine", 4)}, ParseTarget("llvm -mcpu=x86-64"), Emit::kObject);
  ASSERT_TRUE(object.ok());
  EXPECT_THAT(LinkShared({*object}, {folder->path() + "/none.a"}, path).message(),
              HasSubstr("none.a"));
  EXPECT_THAT(LinkShared({*object, *object}, {}, path).message(), HasSubstr("duplicate symbol"));
  EXPECT_FALSE(FileExists(path));
  EXPECT_TRUE(LinkShared({*object}, {}, path).ok());
}

}  // namespace
}  // namespace tilewright
