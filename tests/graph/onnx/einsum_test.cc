// Einsum compared with sums over all letters of the equation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "src/graph/onnx/proto.h"
#include "tests/graph/one_operator.h"

namespace tilewright {
namespace {

namespace def = onnx_definitions;
using def::Array;
using testing::HasSubstr;

struct EquationCase {
  const char* equation;
  // The same equation with one letter for each dimension of "..."; "1" if an operand lacks it.
  std::vector<std::string> terms;
  std::string result;
  std::vector<Ints> shapes;
};

// Multiplies the operands for each combination of letters, and adds the product at its position in
// the result.
Array Contracted(const EquationCase& c, const std::vector<Array>& operands) {
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t d = 0; d < c.terms[i].size(); ++d) {
      std::int64_t& size = sizes[c.terms[i][d]];
      size = std::max(size, operands[i].shape[d]);
    }
  }
  Ints all, result;
  std::string letters;
  for (const auto& [letter, size] : sizes) {
    letters += letter;
    all.push_back(size);
  }
  const auto indexed = [&](const std::string& term, const Ints& at, const Ints& shape) {
    Ints index;
    for (std::size_t d = 0; d < term.size(); ++d) {
      const std::int64_t place = at[letters.find(term[d])];
      index.push_back(!shape.empty() && shape[d] == 1 ? 0 : place);
    }
    return index;
  };
  for (char letter : c.result) result.push_back(sizes[letter]);
  Array sums = Array::Filled(result);
  def::ForEach(all, [&](const Ints& at) {
    double product = 1;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      product *= operands[i].At(indexed(c.terms[i], at, operands[i].shape));
    }
    sums.At(indexed(c.result, at, {})) += product;
  });
  return sums;
}

OneOperator EinsumModel(const char* equation, const std::vector<Array>& operands,
                        DataType dtype = kFloat32) {
  OneOperator einsum("Einsum", operands[0], 12, dtype);
  for (std::size_t i = 1; i < operands.size(); ++i) einsum.With(operands[i], dtype);
  einsum.model().Text("equation", equation);
  return einsum;
}

const EquationCase kEquations[] = {
    {"ab,cd,ef->acf", {"ab", "cd", "ef"}, "acf", {{2, 3}, {2, 3}, {2, 2}}},
    {"ab,bc,cd,de->ae", {"ab", "bc", "cd", "de"}, "ae", {{2, 3}, {3, 4}, {4, 5}, {5, 2}}},
    {"ij,ij,ij->ij", {"ij", "ij", "ij"}, "ij", {{3, 4}, {3, 4}, {3, 4}}},
    {"ab,cd,bc->ad", {"ab", "cd", "bc"}, "ad", {{2, 3}, {4, 5}, {3, 4}}},
    {"ijk,jil,kl->jl", {"ijk", "jil", "kl"}, "jl", {{2, 3, 4}, {3, 2, 5}, {4, 5}}},
    {"ii->i", {"ii"}, "i", {{3, 3}}},
    {"ii", {"ii"}, "", {{3, 3}}},
    {"iii->i", {"iii"}, "i", {{3, 3, 3}}},
    {"iij->ji", {"iij"}, "ji", {{3, 3, 4}}},
    {"iji,j->i", {"iji", "j"}, "i", {{3, 4, 3}, {4}}},
    {"ijij->ij", {"ijij"}, "ij", {{2, 3, 2, 3}}},
    {"...ij,...jk->...ik", {"pqij", "pqjk"}, "pqik", {{5, 1, 3, 4}, {5, 2, 4, 2}}},
    {"...ij,jk", {"pij", "jk"}, "pik", {{2, 3, 4}, {4, 5}}},
    {"...ii->...i", {"pii"}, "pi", {{2, 3, 3}}},
    {"i...->...i", {"ipq"}, "pqi", {{2, 3, 4}}},
    {"...,...->...", {"qr", "pqr"}, "pqr", {{3, 1}, {2, 3, 4}}},
    {"ba", {"ba"}, "ab", {{3, 4}}},
    {" i , j -> j i ", {"i", "j"}, "ji", {{3}, {4}}},
    {"Ab,bA->A", {"Ab", "bA"}, "A", {{3, 4}, {4, 3}}},
    {"ij,kj->ki", {"ij", "kj"}, "ki", {{3, 1}, {2, 4}}},
};

TEST(OnnxEinsum, AnyOperandsDiagonalsAndDots) {
  for (const EquationCase& c : kEquations) {
    SCOPED_TRACE(c.equation);
    std::vector<Array> operands;
    for (const Ints& shape : c.shapes) {
      operands.push_back(Array::Made(shape, static_cast<int>(operands.size()) + 3, -4, 4));
    }
    ExpectEqual(EinsumModel(c.equation, operands).Run(), Contracted(c, operands));
    ExpectEqual(EinsumModel(c.equation, operands, kInt64).Run(), Contracted(c, operands));
    ExpectEqual(EinsumModel(c.equation, operands, kInt8).Run(), [&] {
      Array wrapped = Contracted(c, operands);
      for (double& value : wrapped.v) value = static_cast<std::int8_t>(static_cast<int>(value));
      return wrapped;
    }());
  }
}

TEST(OnnxEinsum, SaysWhatAnEquationLacks) {
  const Array matrix = Array::Filled({2, 3}), cube = Array::Filled({2, 3, 4});
  const auto message = [](const char* equation, const std::vector<Array>& operands) {
    const auto graph = EinsumModel(equation, operands).model().Import();
    EXPECT_FALSE(graph.ok()) << equation;
    return graph.ok() ? std::string() : std::string(graph.status().message());
  };
  EXPECT_THAT(message("ij->i", {cube}),
              HasSubstr("node 0 (Einsum) making 'y': input 0 is float32[2,3,4], the equation has 2 "
                        "letters for it"));
  EXPECT_THAT(message("ij,jk->ik", {matrix}), HasSubstr("of 2 operands; the node has 1 inputs"));
  EXPECT_THAT(message("ij,ij->ij", {matrix, Array::Filled({2, 4})}), HasSubstr("is 3 elsewhere"));
  EXPECT_THAT(message("ii->i", {matrix}), HasSubstr("whose dimension 1 is 2 elsewhere"));
  EXPECT_THAT(message("ii->i", {Array::Filled({1, 3})}),
              HasSubstr("whose dimensions 0 and 1 have one letter"));
  EXPECT_THAT(message("ij->ik", {matrix}), HasSubstr("one that none of its 1 operands has"));
  EXPECT_THAT(message("ij->ii", {matrix}), HasSubstr("a letter twice"));
  EXPECT_THAT(message("...j->j", {matrix}), HasSubstr("its result has not"));
  EXPECT_THAT(message("...j...->j", {matrix}), HasSubstr("at most one '...'"));
  EXPECT_THAT(message("i-j->i", {matrix}), HasSubstr("expected letters"));
  EXPECT_THAT(message("", {matrix}), HasSubstr("the equation has 0 letters"));
  std::string many = "a";
  for (int i = 1; i < 65; ++i) many += ",a";
  EXPECT_THAT(message((many + "->a").c_str(), std::vector<Array>(65, Array::Filled({2}))),
              HasSubstr("65 operands, expected at most 64"));
}

}  // namespace
}  // namespace tilewright
