// Text of OpenCL C. tests/templates/opencl_device_test.cc builds and runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/codegen/codegen.h"
#include "src/codegen/opencl/source.h"
#include "src/schedule/intrinsics.h"
#include "src/schedule/workspace_images.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A kernel of one block of `threads` threads around a statement of the thread's index.
template <typename Make>
Program InThreads(std::vector<Buffer> parameters, std::int64_t threads, Make make) {
  const Expr thread = MakeVar("thread.x");
  Program program;
  program.name = "example";
  program.parameters = std::move(parameters);
  program.body = MakeFor(thread, threads, LoopKind::kThreadX, make(thread));
  return program;
}

std::string SourceOf(const Program& program) {
  auto text = opencl::PrintSource({program});
  return text.ok() ? *text : "error: " + text.status().message();
}

TEST(OpenClSource, AKernelReadsAsOneWouldWriteIt) {
  const Buffer a = MakeBuffer("a", kFloat32, {4, 32}), out = MakeBuffer("out", kFloat32, {4, 32});
  const Buffer tile = MakeBuffer("a.shared", kFloat32, {32}, Scope::kShared);
  const Expr block = MakeVar("block.x"), thread = MakeVar("thread.x");
  Program program;
  program.name = "example";
  program.parameters = {a, out};
  program.body = MakeFor(
      block, 4, LoopKind::kBlockX,
      MakeFor(
          thread, 32, LoopKind::kThreadX,
          MakeAllocate(
              tile,
              MakeBlock({MakeStore(tile, {thread}, MakeLoad(a, {block, thread})), MakeBarrier(),
                         MakeStore(out, {block, thread},
                                   MakeLoad(tile, {31 - thread}) * MakeFloat(kFloat32, 0.5))}))));
  EXPECT_EQ(SourceOf(program),
            R"(// 4 x 1 x 1 groups of 32 x 1 x 1 items.
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void example(__global const float* restrict a, __global float* restrict out) {
  __local float a_shared[32] __attribute__((aligned(16)));
  const int block_x = get_group_id(0);
  const int thread_x = get_local_id(0);
  a_shared[thread_x] = a[block_x * 32 + thread_x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[block_x * 32 + thread_x] = a_shared[thread_x * (-1) + 31] * 0.5f;
}
)");
}

TEST(OpenClSource, VectorizedLoopsAreVectorsWhereAllLanesAreAlike) {
  const Buffer a = MakeBuffer("a", kFloat32, {64}), out = MakeBuffer("out", kFloat32, {64});
  const auto loop = [&](std::int64_t stride) {
    return InThreads({a, out}, 16, [&](const Expr& thread) {
      const Expr lane = MakeVar("v");
      return MakeFor(
          lane, 4, LoopKind::kVectorized,
          MakeStore(out, {thread * 4 + lane},
                    MakeLoad(a, {thread * 4 + lane * Expr(stride)}) + MakeFloat(kFloat32, 1)));
    });
  };
  EXPECT_THAT(SourceOf(loop(1)),
              HasSubstr("vstore4((vload4(0, a + thread_x * 4) + (float4)(1.0f)), 0, "
                        "out + thread_x * 4);"));
  const std::string apart = SourceOf(loop(0) /* one element for all lanes */);
  EXPECT_THAT(apart, HasSubstr("(float4)(a[thread_x * 4] + 1.0f)"));
}

TEST(OpenClSource, LanesThatAreNotConsecutiveStayALoop) {
  const Buffer a = MakeBuffer("a", kFloat32, {64, 4}), out = MakeBuffer("out", kFloat32, {64});
  const Program program = InThreads({a, out}, 16, [&](const Expr& thread) {
    const Expr lane = MakeVar("v");
    return MakeFor(lane, 4, LoopKind::kVectorized,
                   MakeStore(out, {thread * 4 + lane}, MakeLoad(a, {thread * 4 + lane, 0})));
  });
  EXPECT_THAT(SourceOf(program), HasSubstr("#pragma unroll\n"));
  EXPECT_THAT(SourceOf(program), Not(HasSubstr("vload")));
}

TEST(OpenClSource, Float16IsStoredAndLoadedWithoutTheExtension) {
  const Buffer a = MakeBuffer("a", kFloat16, {16}), out = MakeBuffer("out", kFloat16, {16});
  const Program program = InThreads({a, out}, 16, [&](const Expr& thread) {
    const Expr wide = MakeCast(kFloat32, MakeLoad(a, {thread}));
    return MakeStore(out, {thread}, MakeCast(kFloat16, wide * wide));
  });
  const std::string text = SourceOf(program);
  EXPECT_THAT(text, HasSubstr("__global const ushort* restrict a"));
  EXPECT_THAT(
      text,
      HasSubstr("vstore_half_rte(vload_half(thread_x, (__global const half*)a) * "
                "vload_half(thread_x, (__global const half*)a), thread_x, (__global half*)out);"));
  EXPECT_THAT(text, Not(HasSubstr("cl_khr_fp16")));
}

TEST(OpenClSource, NarrowIntegersWrapAndNanIsKept) {
  const Buffer a = MakeBuffer("a", kInt8, {16}), out = MakeBuffer("out", kInt8, {16});
  const Program bytes = InThreads({a, out}, 16, [&](const Expr& thread) {
    return MakeStore(out, {thread}, MakeLoad(a, {thread}) + MakeLoad(a, {thread}));
  });
  EXPECT_THAT(SourceOf(bytes), HasSubstr("out[thread_x] = (char)(a[thread_x] + a[thread_x]);"));
  const Buffer x = MakeBuffer("x", kFloat32, {16}), y = MakeBuffer("y", kFloat32, {16});
  const Program floats = InThreads({x, y}, 16, [&](const Expr& thread) {
    return MakeStore(y, {thread}, Max(MakeLoad(x, {thread}), MakeFloat(kFloat32, 0)));
  });
  EXPECT_THAT(SourceOf(floats), HasSubstr("inline float tw_max(float a, float b)"));
  EXPECT_THAT(SourceOf(floats), HasSubstr("y[thread_x] = tw_max(x[thread_x], 0.0f);"));
}

TEST(OpenClSource, DivisionOfIndicesIsThatOfCUnlessTheyMayBeNegative) {
  const Buffer a = MakeBuffer("a", kFloat32, {16}), out = MakeBuffer("out", kFloat32, {16});
  const Buffer picked = MakeBuffer("picked", kInt32, {16});
  const auto by = [&](bool loaded) {
    return SourceOf(InThreads({a, picked, out}, 16, [&](const Expr& thread) {
      const Expr index = loaded ? MakeCast(kInt64, MakeLoad(picked, {thread})) : thread - 2;
      return MakeStore(out, {thread}, MakeLoad(a, {FloorDiv(index, 3) + 2}));
    }));
  };
  EXPECT_THAT(by(false), HasSubstr("a[(thread_x + 1) / 3 + 1]"));
  EXPECT_THAT(by(true), HasSubstr("tw_floordiv_long((long)picked[thread_x], 3)"));
}

TEST(OpenClSource, NamesAreFreshAndNoWordsOfTheLanguage) {
  const Buffer in = MakeBuffer("half", kFloat32, {16}), out = MakeBuffer("a.b", kFloat32, {16});
  const Buffer other = MakeBuffer("a_b", kFloat32, {16});
  const Program program = InThreads({in, other, out}, 16, [&](const Expr& thread) {
    return MakeStore(out, {thread}, MakeLoad(in, {thread}) + MakeLoad(other, {thread}));
  });
  EXPECT_THAT(SourceOf(program), HasSubstr("a_b_1[thread_x] = half_1[thread_x] + a_b[thread_x];"));
}

TEST(OpenClSource, RefusesWhatItHasNoWordsFor) {
  const Buffer a = MakeBuffer("a", kBFloat16, {16}), out = MakeBuffer("out", kFloat32, {16});
  const Program program = InThreads({a, out}, 16, [&](const Expr& thread) {
    return MakeStore(out, {thread}, MakeCast(kFloat32, MakeLoad(a, {thread})));
  });
  EXPECT_EQ(opencl::PrintSource({program}).status().code(), StatusCode::kUnsupported);
  const Buffer s = MakeBuffer("s", kFloat32, {16});
  const Program parallel = InThreads({s, out}, 16, [&](const Expr& thread) {
    const Expr i = MakeVar("i");
    return MakeFor(i, 4, LoopKind::kParallel, MakeStore(out, {thread}, MakeLoad(s, {i})));
  });
  EXPECT_EQ(opencl::PrintSource({parallel}).status().message(),
            "example: example: loop i is parallel, in a kernel");
}

/// Two launches of 8 work-items: texels of an image of 2 rows are written from `in`, then read.
struct ImageProgram {
  Buffer in = MakeBuffer("in", kFloat32, {2, 4, 4}), out = MakeBuffer("out", kFloat32, {2, 4, 4});
  Buffer image = MakeBuffer("texels", kFloat32, {2, 4, 4});
  Expr item = MakeVar("item"), lane = MakeVar("lane");
  Expr row = FloorDiv(item, Expr(4)), column = FloorMod(item, Expr(4));

  /// Returns a launch of a loop over the elements of a texel. rows: of the image; 0: no image.
  Stmt Launch(const Buffer& to, const Expr& value, std::int64_t rows) const {
    std::map<std::string, std::int64_t> attributes;
    if (rows > 0) attributes[kImageRowsAttribute] = rows;
    const Stmt texel = MakeFor(lane, 4, LoopKind::kVectorized,
                               MakeStore(to, {row, column, lane}, value), attributes);
    return MakeFor(item, 8, LoopKind::kThreadX, texel);
  }
  Program Make(const Stmt& writes, const Stmt& reads) const {
    Program program;
    program.name = "example";
    program.parameters = {in, out};
    program.body = MakeAllocate(image, MakeBlock({writes, reads}));
    return program;
  }
  Stmt Write() const { return Launch(image, MakeLoad(in, {row, column, lane}), 1); }
  Stmt Read() const { return Launch(out, MakeLoad(image, {row, column, lane}), 0); }
};

TEST(OpenClSource, TexelsOfAnImageAreReadAndWrittenAtOnce) {
  const ImageProgram p;
  const std::string text = SourceOf(p.Make(p.Write(), p.Read()));
  EXPECT_TRUE(text.starts_with("// tw_image example 2 4 2 float\n")) << text;
  EXPECT_THAT(text, HasSubstr("__write_only image2d_t texels)"));
  EXPECT_THAT(text, HasSubstr("write_imagef(texels, (int2)(item % 4, item / 4), "
                              "vload4(0, in + "));
  EXPECT_THAT(text, HasSubstr("__read_only image2d_t texels)"));
  EXPECT_THAT(text, HasSubstr("vstore4(read_imagef(texels, tw_sampler, (int2)(item % 4, item / 4))"
                              ", 0, out + "));
  // One element, for all lanes.
  const std::string one =
      SourceOf(p.Make(p.Write(), p.Launch(p.out, MakeLoad(p.image, {p.row, Expr(1), Expr(2)}), 0)));
  EXPECT_THAT(one, HasSubstr("read_imagef(texels, tw_sampler, (int2)(1, item / 4)).s2"));
}

TEST(OpenClSource, RefusesOtherAccessesToImages) {
  const ImageProgram p;
  const auto refusal = [](const Program& program) {
    return opencl::PrintSource({program}).status().message();
  };
  EXPECT_EQ(refusal(p.Make(p.Write(), p.Launch(p.image, MakeFloat(kFloat32, 1), 0))),
            "example: image texels: launch example_1 does not write it in texels");
  EXPECT_EQ(refusal(p.Make(p.Launch(p.image, MakeLoad(p.image, {p.row, p.column, Expr(0)}), 1),
                           p.Read())),
            "example: image texels: launch example reads and writes it");
  EXPECT_EQ(refusal(p.Make(p.Write(), p.Launch(p.out, MakeFloat(kFloat32, 1), 1))),
            "example: image out: expected a workspace with one number of rows");
  EXPECT_EQ(refusal(p.Make(p.Write(), p.Launch(p.image, MakeFloat(kFloat32, 1), 2))),
            "example: image texels: expected a workspace with one number of rows");
}

TEST(OpenClSource, AKernelCannotHaveAWordOfTheLanguageAsItsName) {
  const Buffer out = MakeBuffer("out", kFloat32, {16});
  Program program = InThreads({out}, 16, [&](const Expr& thread) {
    return MakeStore(out, {thread}, MakeFloat(kFloat32, 1));
  });
  program.name = "kernel";
  EXPECT_EQ(opencl::PrintSource({program}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilewright
