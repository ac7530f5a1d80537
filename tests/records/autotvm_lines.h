#pragma once

#include <string>

namespace tilewright::records {

/// Returns a line of a 1x1 convolution on x86 with these knobs and this cost.
inline std::string ConvLine(int oc, int index, const std::string& cost,
                            const std::string& time = "100.5",
                            const std::string& target = "llvm -mcpu=core-avx2", int channels = 64) {
  const std::string c = std::to_string(channels);
  return R"({"input": [")" + target + R"(", "conv2d_NCHWc.x86", [["TENSOR", [1, )" + c +
         R"(, 56, 56], "float32"], ["TENSOR", [64, )" + c +
         R"(, 1, 1], "float32"], [1, 1], [0, 0, 0, 0], [1, 1], "NCHW", "NCHW", "float32"], {}],)"
         R"( "config": {"index": )" +
         std::to_string(index) + R"(, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 1]],)" +
         R"( ["tile_oc", "sp", [-1, )" + std::to_string(oc) +
         R"(]], ["tile_ow", "sp", [-1, 1]], ["tile_oh", "ot", 1]]}, "result": [[)" + cost +
         "], 0, 1.5, " + time + R"(], "version": 0.2, "tvm_version": "0.7.dev0"})";
}

/// The task of ConvLine.
inline constexpr const char* kConvTuple =
    "('conv2d_NCHWc.x86', ('TENSOR', (1, 64, 56, 56), 'float32'), ('TENSOR', (64, 64, 1, 1),"
    " 'float32'), (1, 1), (0, 0, 0, 0), (1, 1), 'NCHW', 'NCHW', 'float32')";

}  // namespace tilewright::records
