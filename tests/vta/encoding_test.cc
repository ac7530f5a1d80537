#include "src/vta/encoding.h"

#include <gtest/gtest.h>

#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {
namespace {

constexpr int kRounds = 2000;

std::uint32_t Bits(Random& random, int width) {
  return static_cast<std::uint32_t>(random.Below(std::uint64_t{1} << width));
}

Instruction RandomInstruction(Random& random, const Design& design) {
  const int uop = design.LogDepth(Memory::kUop);
  const int acc = design.LogDepth(Memory::kAcc);
  const int inp = design.LogDepth(Memory::kInp);
  const int wgt = design.LogDepth(Memory::kWgt);
  const auto flag = [&] { return random.Below(2) == 1; };
  Instruction instruction;
  instruction.tokens = {flag(), flag(), flag(), flag()};
  const UopLoop loop = {Bits(random, uop), Bits(random, uop + 1), Bits(random, 14),
                        Bits(random, 14)};
  switch (random.Below(4)) {
    case 0: {
      Transfer t;
      t.is_store = flag();
      constexpr Memory kLoadable[] = {Memory::kUop, Memory::kWgt, Memory::kInp, Memory::kAcc,
                                      Memory::kAccInt8};
      t.memory = t.is_store ? Memory::kOut : kLoadable[random.Below(5)];
      t.sram_base = Bits(random, 16);
      t.dram_base = Bits(random, 32);
      t.y_size = Bits(random, 16);
      t.x_size = Bits(random, 16);
      t.x_stride = Bits(random, 16);
      t.y_pad_0 = Bits(random, 4);
      t.y_pad_1 = Bits(random, 4);
      t.x_pad_0 = Bits(random, 4);
      t.x_pad_1 = Bits(random, 4);
      instruction.operation = t;
      break;
    }
    case 1:
      instruction.operation = Gemm{flag(),
                                   loop,
                                   {Bits(random, acc), Bits(random, acc)},
                                   {Bits(random, inp), Bits(random, inp)},
                                   {Bits(random, wgt), Bits(random, wgt)}};
      break;
    case 2:
      instruction.operation = Alu{flag(),
                                  loop,
                                  {Bits(random, acc), Bits(random, acc)},
                                  {Bits(random, acc), Bits(random, acc)},
                                  static_cast<AluOp>(random.Below(kAluOpCount)),
                                  flag(),
                                  static_cast<std::int16_t>(Bits(random, 16))};
      break;
    default:
      instruction.operation = Finish();
  }
  return instruction;
}

// Sizes for which a field of the second word moves into the first.
Design SmallDesign() {
  const auto design = Design::Parse(
      R"({"TARGET": "sim", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 2, "LOG_WGT_WIDTH": 1,
          "LOG_ACC_WIDTH": 5, "LOG_BATCH": 1, "LOG_BLOCK": 2, "LOG_UOP_BUFF_SIZE": 12,
          "LOG_INP_BUFF_SIZE": 8, "LOG_WGT_BUFF_SIZE": 8, "LOG_ACC_BUFF_SIZE": 10})",
      "small.json");
  TW_CHECK(design.ok(), design.status().message());
  return *design;
}

TEST(EncodingTest, EveryInstructionComesBack) {
  Random random(1);
  for (const Design& design : {PresetDesign("sim"), PresetDesign("pynq_4x8"), SmallDesign()}) {
    const Encoding encoding(design);
    for (int i = 0; i < kRounds; ++i) {
      const Instruction instruction = RandomInstruction(random, design);
      const auto words = encoding.Encode(instruction);
      ASSERT_TRUE(words.ok()) << ToString(instruction) << ": " << words.status().message();
      const auto decoded = encoding.Decode(*words);
      ASSERT_TRUE(decoded.ok()) << decoded.status().message();
      EXPECT_EQ(*decoded, instruction) << ToString(instruction);
      const auto again = encoding.Encode(*decoded);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(*again, *words);
    }
  }
}

TEST(EncodingTest, FieldsLieWhereTheHardwareReadsThem) {
  const Encoding encoding(PresetDesign("sim"));
  struct Case {
    const char* name;
    Instruction instruction;
    int low;  // only these bits and those of the opcode must be set
    int high;
  };
  const auto one = [&](auto operation, auto member, std::uint32_t value) {
    operation.*member = value;
    return Make(operation);
  };
  Transfer load;
  load.memory = Memory::kUop;
  Gemm gemm;
  gemm.loop = {0, 0, 0, 0};
  Alu alu;
  alu.op = AluOp::kMin;
  alu.loop = gemm.loop;
  const auto with = [](auto operation, auto change) {
    change(operation);
    return Make(operation);
  };
  const Case cases[] = {
      {"sram_base", one(load, &Transfer::sram_base, 0xffff), 10, 25},
      {"dram_base", one(load, &Transfer::dram_base, 0xffffffff), 26, 57},
      {"y_size", one(load, &Transfer::y_size, 0xffff), 64, 79},
      {"x_size", one(load, &Transfer::x_size, 0xffff), 80, 95},
      {"x_stride", one(load, &Transfer::x_stride, 0xffff), 96, 111},
      {"y_pad_0", one(load, &Transfer::y_pad_0, 15), 112, 115},
      {"y_pad_1", one(load, &Transfer::y_pad_1, 15), 116, 119},
      {"x_pad_0", one(load, &Transfer::x_pad_0, 15), 120, 123},
      {"x_pad_1", one(load, &Transfer::x_pad_1, 15), 124, 127},
      {"reset", with(gemm, [](Gemm& g) { g.reset = true; }), 7, 7},
      {"uop_bgn", with(gemm, [](Gemm& g) { g.loop.uop_begin = 8191; }), 8, 20},
      {"uop_end", with(gemm, [](Gemm& g) { g.loop.uop_end = 16383; }), 21, 34},
      {"iter_out", with(gemm, [](Gemm& g) { g.loop.iter_out = 16383; }), 35, 48},
      {"iter_in", with(gemm, [](Gemm& g) { g.loop.iter_in = 16383; }), 49, 62},
      {"dst out", with(gemm, [](Gemm& g) { g.dst.out = 2047; }), 64, 74},
      {"dst in", with(gemm, [](Gemm& g) { g.dst.in = 2047; }), 75, 85},
      {"src out", with(gemm, [](Gemm& g) { g.src.out = 2047; }), 86, 96},
      {"src in", with(gemm, [](Gemm& g) { g.src.in = 2047; }), 97, 107},
      {"wgt out", with(gemm, [](Gemm& g) { g.wgt.out = 1023; }), 108, 117},
      {"wgt in", with(gemm, [](Gemm& g) { g.wgt.in = 1023; }), 118, 127},
      {"alu src in", with(alu, [](Alu& a) { a.src.in = 2047; }), 97, 107},
      {"alu op", with(alu, [](Alu& a) { a.op = AluOp::kShr; }), 108, 109},
      {"use_imm", with(alu, [](Alu& a) { a.use_immediate = true; }), 111, 111},
      {"imm", with(alu, [](Alu& a) { a.immediate = -1; }), 112, 127},
  };
  for (const Case& c : cases) {
    const auto words = encoding.Encode(c.instruction);
    ASSERT_TRUE(words.ok()) << c.name << ": " << words.status().message();
    for (int bit = 3; bit < 128; ++bit) {
      const bool set = ((*words)[static_cast<std::size_t>(bit / 64)] >> (bit % 64) & 1) != 0;
      EXPECT_EQ(set, c.low <= bit && bit <= c.high) << c.name << " bit " << bit;
    }
  }
  const auto flags = encoding.Encode(Make(Finish(), {true, false, false, true}));
  ASSERT_TRUE(flags.ok());
  EXPECT_EQ((*flags)[0], 0b1001011u);
}

TEST(EncodingTest, MicroOps) {
  const Encoding encoding(PresetDesign("sim"));
  const Uop uop = {2047, 1, 1023};
  const auto word = encoding.Encode(uop);
  ASSERT_TRUE(word.ok());
  EXPECT_EQ(*word, 2047u | 1u << 11 | 1023u << 22);
  EXPECT_EQ(encoding.Decode(*word), uop);
  EXPECT_EQ(encoding.Encode(Uop{0, 2048, 0}).status().message(),
            "src_idx: 2048, expected at most 2047");
}

TEST(EncodingTest, RefusesWhatDoesNotFit) {
  const Encoding encoding(PresetDesign("sim"));
  Transfer load;
  load.y_pad_1 = 16;
  EXPECT_EQ(encoding.Encode(Make(load)).status().message(), "y_pad_1: 16, expected at most 15");
  load = Transfer();
  load.memory = Memory::kOut;
  EXPECT_EQ(encoding.Encode(Make(load)).status().message(), "memory_type: OUT cannot be loaded");
  load.memory = Memory::kInp;
  load.is_store = true;
  load.x_size = 1;
  EXPECT_EQ(encoding.Encode(Make(load)).status().message(),
            "memory_type: a store of INP, expected OUT");
  Gemm gemm;
  gemm.wgt.in = 1024;
  EXPECT_EQ(encoding.Encode(Make(gemm)).status().message(),
            "wgt_factor_in: 1024, expected at most 1023");
  const Instruction instructions[] = {Make(Finish()), Make(gemm)};
  EXPECT_EQ(encoding.EncodeStream(instructions).status().message(),
            "instruction 1: wgt_factor_in: 1024, expected at most 1023");
}

TEST(EncodingTest, RefusesForgedStreams) {
  const Encoding encoding(PresetDesign("sim"));
  EXPECT_EQ(encoding.Decode(InstructionWords{5, 0}).status().message(),
            "opcode: 5, expected at most 4");
  EXPECT_EQ(encoding.Decode(InstructionWords{6 << 7, 0}).status().message(),
            "memory_type: 6, expected at most 5");
  EXPECT_EQ(encoding.Decode(InstructionWords{4, std::uint64_t{5} << 44}).status().message(),
            "alu_opcode: 5, expected at most 4");
  const std::vector<std::byte> bytes(40);
  EXPECT_EQ(encoding.DecodeStream(bytes).status().message(),
            "a stream of 40 bytes is cut off: expected a multiple of 16");
  std::vector<std::byte> forged(32);
  forged[16] = std::byte{7};
  EXPECT_EQ(encoding.DecodeStream(forged).status().message(),
            "instruction 1: opcode: 7, expected at most 4");
}

TEST(EncodingTest, ListingIsReadable) {
  Transfer load;
  load.memory = Memory::kInp;
  load.sram_base = 5;
  load.dram_base = 1024;
  load.y_size = 10;
  load.x_size = load.x_stride = 56;
  load.y_pad_0 = load.x_pad_1 = 1;
  Gemm gemm;
  gemm.loop = {0, 48, 56, 3};
  gemm.dst = {1, 0};
  gemm.src = {1, 1};
  gemm.wgt = {0, 1};
  Alu alu;
  alu.op = AluOp::kShr;
  alu.use_immediate = true;
  alu.immediate = 8;
  alu.loop = {48, 49, 896, 1};
  alu.dst = {1, 0};
  Transfer idle;
  idle.is_store = true;
  idle.memory = Memory::kOut;
  const Instruction instructions[] = {Make(load, {false, true, false, true}), Make(gemm), Make(alu),
                                      Make(idle, {true, false, true, false}), Make(Finish())};
  EXPECT_EQ(
      Listing(instructions),
      "     0  load.inp sram=5 dram=1024 rows=10x56 stride=56 pad=1,0,0,1 pop_next push_next\n"
      "     1  gemm uops=0..48 loops=56x3 dst=+1,+0 src=+1,+1 wgt=+0,+1\n"
      "     2  alu.shr uops=48..49 loops=896x1 dst=+1,+0 imm=8\n"
      "     3  store.out nothing pop_prev push_prev\n"
      "     4  finish\n");
}

}  // namespace
}  // namespace tilewright::vta
