#include "src/vta/design.h"

#include <gtest/gtest.h>

#include "src/vta/simulator/cycle_model.h"
#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {
namespace {

TEST(DesignTest, PresetsDifferInTheirTarget) {
  for (const char* name : {"sim", "tsim", "pynq", "ultra96", "zcu104", "de10nano"}) {
    const Design design = PresetDesign(name);
    EXPECT_EQ(design.target(), name);
    EXPECT_EQ(design.Name(), "1x16_i8w8a32_15_15_18_17");
    EXPECT_EQ(design, Design::Default(name));
  }
  EXPECT_EQ(PresetDesign("pynq").Model(), "pynq_1x16_i8w8a32_15_15_18_17");
}

TEST(DesignTest, DerivedSizes) {
  struct Row {
    Memory memory;
    std::int64_t bytes, depth, bytes_4x8, depth_4x8;
  };
  const Design sim = PresetDesign("sim");
  const Design wide = PresetDesign("pynq_4x8");
  EXPECT_EQ(wide.Name(), "4x8_i8w8a32_15_16_16_18");
  for (const Row& row :
       {Row{Memory::kInp, 16, 2048, 32, 2048}, Row{Memory::kWgt, 256, 1024, 64, 1024},
        Row{Memory::kAcc, 64, 2048, 128, 2048}, Row{Memory::kOut, 16, 2048, 32, 2048},
        Row{Memory::kUop, 4, 8192, 4, 8192}, Row{Memory::kAccInt8, 16, 2048, 32, 2048}}) {
    EXPECT_EQ(sim.ElementBytes(row.memory), row.bytes) << MemoryName(row.memory);
    EXPECT_EQ(sim.Depth(row.memory), row.depth) << MemoryName(row.memory);
    EXPECT_EQ(wide.ElementBytes(row.memory), row.bytes_4x8) << MemoryName(row.memory);
    EXPECT_EQ(wide.Depth(row.memory), row.depth_4x8) << MemoryName(row.memory);
  }
  EXPECT_EQ(sim.UsableUops(), 8192);
  EXPECT_EQ(PresetDesign("tsim").UsableUops(), 2048);
}

TEST(DesignTest, PrintsWhatItReads) {
  const Design design = PresetDesign("pynq_4x8");
  const auto again = Design::Parse(design.ToJson(), "printed");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, design);
}

TEST(DesignTest, ModelNamesTheDesign) {
  for (const char* name : {"sim", "tsim", "pynq", "ultra96", "zcu104", "de10nano", "pynq_4x8"}) {
    const Design design = PresetDesign(name);
    const auto again = Design::FromModel(design.Model());
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, design) << name;
  }
  struct Case {
    const char *model, *message;
  };
  for (const Case& c : {
           Case{"", "VTA model '': 1 parts between '_', expected a name such as"},
           Case{"pynq", "VTA model 'pynq': 1 parts"},
           Case{"gpu_1x16_i8w8a32_15_15_18_17",
                "VTA model 'gpu_1x16_i8w8a32_15_15_18_17': target "
                "gpu, known are sim tsim"},
           Case{"sim_1x15_i8w8a32_15_15_18_17",
                "VTA model 'sim_1x15_i8w8a32_15_15_18_17': read as "
                "sim_1x8_i8w8a32_15_15_18_17"},
           Case{"sim_1by16_i8w8a32_15_15_18_17", "VTA model 'sim_1by16_i8w8a32_15_15_18_17': no t"},
           Case{"sim_1x16_i8w8_15_15_18_17", "VTA model 'sim_1x16_i8w8_15_15_18_17': no widths"},
           Case{"sim_1x16_i8w8a32_15_15_18_x", "VTA model 'sim_1x16_i8w8a32_15_15_18_x': "},
           Case{"sim_1x16_i8w8a32_15_15_18_-1", "VTA model 'sim_1x16_i8w8a32_15_15_18_-1': read"},
           Case{"sim_1x16_i8w8a64_15_15_18_17",
                "VTA model 'sim_1x16_i8w8a64_15_15_18_17': LOG_ACC_WIDTH: 6, expected"},
           Case{"sim_1x16_i8w8a16_15_15_18_17",
                "VTA model 'sim_1x16_i8w8a16_15_15_18_17': "
                "LOG_ACC_WIDTH: 4, expected"},
           Case{"sim_1x16_i8w8a32_15_15_19_17",
                "VTA model 'sim_1x16_i8w8a32_15_15_19_17': a micro-op needs 33 bits"},
       }) {
    const auto design = Design::FromModel(c.model);
    ASSERT_FALSE(design.ok()) << c.model;
    EXPECT_EQ(design.status().message().substr(0, std::string(c.message).size()), c.message);
  }
}

TEST(DesignTest, RefusesWhatCannotBeBuilt) {
  const std::string good = PresetDesign("sim").ToJson();
  struct Case {
    const char *from, *to, *message;
  };
  for (const Case& c :
       {Case{
            "\"sim\"", "\"gpu\"",
            "d.json: TARGET: gpu, expected one of sim tsim pynq ultra96 zcu104 de10nano intelfocl"},
        Case{"\"sim\"", "3", "d.json: TARGET: expected a string"},
        Case{"LOG_BATCH", "LOG_BATHC", "d.json: unknown field LOG_BATHC"},
        Case{"\"LOG_BATCH\": 0,", "", "d.json: LOG_BATCH is missing"},
        Case{"LOG_BATCH\": 0", "LOG_BATCH\": \"0\"",
             "d.json: LOG_BATCH: \"0\", expected an integer from 0 to 8"},
        Case{"LOG_ACC_WIDTH\": 5", "LOG_ACC_WIDTH\": 4",
             "d.json: LOG_ACC_WIDTH: 4, expected an integer from 5 to 5"},
        Case{"LOG_BATCH\": 0", "LOG_BATCH\": 8",
             "d.json: an element of ACC has 16384 bytes, expected at most 4096"},
        Case{"WGT_BUFF_SIZE\": 18", "WGT_BUFF_SIZE\": 7",
             "d.json: WGT buffer of 128 bytes holds no element of 256 bytes"},
        Case{"WGT_BUFF_SIZE\": 18", "WGT_BUFF_SIZE\": 19",
             "d.json: a micro-op needs 33 bits to name 2^11 ACC, 2^11 INP and 2^11 WGT elements, "
             "expected at most 32: make a buffer smaller"},
        Case{"UOP_BUFF_SIZE\": 15", "UOP_BUFF_SIZE\": 16",
             "d.json: GEMM instructions need 148 bits, expected at most 128: make the UOP or ACC "
             "buffer smaller"},
        Case{"{", "[{", "d.json: line 14, column"}}) {
    std::string text = good;
    const auto at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, std::string(c.from).size(), c.to);
    const auto design = Design::Parse(text, "d.json");
    ASSERT_FALSE(design.ok()) << c.message;
    EXPECT_EQ(design.status().message().substr(0, std::string(c.message).size()), c.message);
  }
  EXPECT_FALSE(Design::Parse("[]", "d.json").ok());
}

TEST(CycleModelTest, PresetFilesAreTheBuiltInModels) {
  for (const CycleModel& model :
       {CycleModel::Pynq(), CycleModel::Rtl(), CycleModel::PynqSharedBus()}) {
    ASSERT_TRUE(CycleModel::Preset(model.name).ok());
    EXPECT_EQ(*CycleModel::Preset(model.name), model);
    const std::string path = TILEWRIGHT_SOURCE_DIR "/configs/vta/cycles_" + model.name + ".json";
    const auto text = ReadFile(path);
    ASSERT_TRUE(text.ok());
    const auto read = CycleModel::Parse(*text, path);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, model);
    const auto again = CycleModel::Parse(model.ToJson(), "printed");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, model);
  }
}

TEST(CycleModelTest, UnknownPresetsAreRefused) {
  EXPECT_EQ(CycleModel::Preset("board").status().message(),
            "cycle model 'board': unknown, expected pynq, rtl or pynq_shared_bus");
}

TEST(CycleModelTest, RefusesBadNumbers) {
  const std::string good = CycleModel::Rtl().ToJson();
  struct Case {
    const char *from, *to, *message;
  };
  for (const Case& c : {Case{"\"dma_cycles\": 30.0", "\"dma_cycles\": -1",
                             "m.json: dma_cycles: -1, expected a number from 0 to 1e9"},
                        Case{"\"bytes_per_cycle\": 8.0", "\"bytes_per_cycle\": 0",
                             "m.json: bytes_per_cycle: 0, expected a number from 1e-6 to 1e9"},
                        Case{"\"dma_cycles\"", "\"dma\"", "m.json: unknown field dma"},
                        Case{"\"rtl\"", "1", "m.json: name: expected a string"}}) {
    std::string text = good;
    const auto at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, std::string(c.from).size(), c.to);
    const auto model = CycleModel::Parse(text, "m.json");
    ASSERT_FALSE(model.ok()) << c.message;
    EXPECT_EQ(model.status().message(), c.message);
  }
}

TEST(CycleModelTest, Durations) {
  const Design design = PresetDesign("pynq");
  const auto cycles = [&](const Instruction& instruction) {
    return CycleModel::Pynq().CostOf(design, instruction).cycles();
  };
  Transfer load;
  load.memory = Memory::kInp;
  load.y_size = 10;
  load.x_size = 56;
  load.x_stride = 56;
  load.y_pad_0 = 1;
  load.x_pad_0 = load.x_pad_1 = 1;
  // 11 rows of 58 elements, 10 of 56 from DRAM: 78 are padding, and 20 row ends
  EXPECT_DOUBLE_EQ(cycles(Make(load)), 570 + 60 + 560 * 16 / 8.0 + 1600 + 78);
  load = Transfer();
  load.memory = Memory::kWgt;
  load.y_size = 2;
  load.x_size = 9;
  EXPECT_DOUBLE_EQ(cycles(Make(load)), 570 + 32 + 18 * 256 / 4.4);
  load.x_size = 0;
  EXPECT_DOUBLE_EQ(cycles(Make(load)), 10);
  Transfer store;
  store.is_store = true;
  store.memory = Memory::kOut;
  store.y_size = 2;
  store.x_size = 9;
  EXPECT_DOUBLE_EQ(cycles(Make(store)), 570 + 12 + 18 * 16 / 7.4);
  Gemm gemm;
  gemm.loop = {3, 5, 4, 6};
  EXPECT_DOUBLE_EQ(cycles(Make(gemm)), 48 + 48 + 3.3 * 24);
  Alu alu;
  alu.loop = {3, 5, 4, 6};
  EXPECT_DOUBLE_EQ(cycles(Make(alu)), 48 + 48 * 2);
  alu.use_immediate = true;
  EXPECT_DOUBLE_EQ(cycles(Make(alu)), 48 + 48 * 1.02);
  EXPECT_DOUBLE_EQ(cycles(Make(Finish())), 10);
}

}  // namespace
}  // namespace tilewright::vta
