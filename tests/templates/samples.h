#pragma once

namespace tilewright {

/// A workload with an epilogue.
struct Sample {
  const char* name;
  const char* workload;
  const char* epilogue;
};

// Small, with every awkward case: channels no block divides, borders, strides, tails.
inline constexpr Sample kSamples[] = {
    {"Conv3x3",
     "conv2d(float32[1,32,10,9]NCHW,float32[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"Conv3x3Stride2",
     "conv2d(float32[2,16,11,11]NCHW,float32[32,16,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->float32", ""},
    {"ConvOddChannels",
     "conv2d(float32[1,24,9,9]NCHW,float32[40,24,3,3]OIHW,s1x1,p0x1x2x0,d1x1,g1)->float32", "relu"},
    {"ConvDilated",
     "conv2d(float32[1,16,12,12]NCHW,float32[16,16,3,3]OIHW,s1x1,p2x2x2x2,d2x2,g1)->float32",
     "sigmoid;mul(%0)"},
    {"Conv1x1",
     "conv2d(float32[1,48,7,7]NCHW,float32[80,48,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"Conv1x1Stride2",
     "conv2d(float32[1,32,14,14]NCHW,float32[64,32,1,1]OIHW,s2x2,p0x0x0x0,d1x1,g1)->float32", ""},
    {"ConvFirst",
     "conv2d(float32[1,3,30,30]NCHW,float32[32,3,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"ConvNhwc",
     "conv2d(float32[1,9,9,16]NHWC,float32[3,3,16,32]HWIO,s1x1,p1x1x1x1,d1x1,g1)->float32", "relu"},
    {"ConvTiles",
     "conv2d(float32[2,24,12,8]NCHW,float32[40,24,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"ConvTilesUnevenPadding",
     "conv2d(float32[1,32,11,14]NCHW,float32[16,32,3,3]OIHW,s1x1,p0x1x1x1,d1x1,g1)->float32",
     "sigmoid;mul(%0)"},
    {"Conv5x5",
     "conv2d(float32[2,24,7,9]NCHW,float32[40,24,5,5]OIHW,s1x1,p2x2x2x2,d1x1,g1)->float32",
     "add(channel:float32);relu"},
    {"ConvOneChannel",
     "conv2d(float32[1,1,9,12]NCHW,float32[24,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", "relu"},
    {"ConvOneRow",
     "conv2d(float32[1,16,1,40]NCHW,float32[24,16,1,5]OIHW,s1x2,p0x2x0x2,d1x1,g1)->float32",
     "add(channel:float32)"},
    {"ConvU8", "conv2d(uint8[1,32,9,9]NCHW,int8[48,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
     "add(channel:int32);relu"},
    {"ConvS8", "conv2d(int8[1,32,9,9]NCHW,int8[32,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->int32",
     "add(256);shift_right(9);clip(-127,127);cast(int8)"},
    {"ConvS8Pointwise",
     "conv2d(int8[1,64,7,7]NCHW,int8[32,64,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32", ""},
    {"ConvU8OddChannels",
     "conv2d(uint8[1,24,7,7]NCHW,int8[40,24,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32", ""},
    {"ConvU8Residual",
     "conv2d(uint8[1,32,7,7]NCHW,int8[48,32,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->int32",
     "cast(float32);mul(0.01);add(tensor:uint8,less:128);mul(0.3);saturate_cast(uint8)"},
    {"ConvS8First", "conv2d(int8[1,3,16,16]NCHW,int8[16,3,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g1)->int32",
     ""},
    {"ConvPacked",
     "conv2d(int8[1,2,7,7,1,16]NCHW1n16c,int8[2,2,3,3,16,16]OIHW16o16i,s1x1,p1x1x1x1,d1x1,g1)->"
     "int32",
     "shift_right(5);clip(-127,127);cast(int8)"},
    {"ConvBlockedBy8",
     "conv2d(float32[1,3,6,6,8]NCHW8c,float32[5,3,1,1,8,8]OIHW8i8o,s1x1,p0x0x0x0,d1x1,g1)->float32",
     "relu"},
    {"DepthwiseBlockedBy8",
     "depthwise_conv2d(float32[1,3,9,9,8]NCHW8c,float32[3,1,3,3,1,8]OIHW1i8o,s2x2,p0x0x0x0,d1x1,"
     "g24)"
     "->float32",
     "clip(0,6)"},
    {"Depthwise",
     "depthwise_conv2d(float32[1,32,10,10]NCHW,float32[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->"
     "float32",
     "add(channel:float32);clip(0,6)"},
    {"DepthwiseStride2",
     "depthwise_conv2d(float32[1,24,13,13]NCHW,float32[24,1,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g24)->"
     "float32",
     ""},
    {"Depthwise5x5",
     "depthwise_conv2d(float32[1,24,9,10]NCHW,float32[24,1,5,5]OIHW,s1x1,p2x2x2x2,d1x1,g24)->"
     "float32",
     "relu"},
    {"Depthwise7x7Stride2",
     "depthwise_conv2d(float32[1,20,13,11]NCHW,float32[20,1,7,7]OIHW,s2x2,p3x3x3x3,d1x1,g20)->"
     "float32",
     "add(channel:float32)"},
    {"DepthwiseU8",
     "depthwise_conv2d(uint8[1,32,9,9]NCHW,int8[32,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->int32",
     "relu"},
    {"DepthwiseU8OddChannels",
     "depthwise_conv2d(uint8[1,20,7,13]NCHW,int8[20,1,5,5]OIHW,s2x1,p2x1x1x3,d1x1,g20)->int32",
     "add(channel:int32);relu;cast(float32);mul(0.01);saturate_cast(uint8)"},
    {"DepthwiseS8",
     "depthwise_conv2d(int8[2,16,9,6]NCHW,int8[16,1,3,3]OIHW,s1x2,p1x1x1x1,d1x1,g16)->int32",
     "add(channel:int32)"},
    {"Grouped",
     "group_conv2d(float32[1,16,9,9]NCHW,float32[32,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g4)->float32",
     "relu"},
    {"GroupedBlocks",
     "group_conv2d(float32[1,32,9,10]NCHW,float32[64,16,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g2)->float32",
     "add(channel:float32);relu"},
    {"GroupedInOneBlock",
     "group_conv2d(float32[1,32,9,9]NCHW,float32[32,4,3,3]OIHW,s2x2,p1x1x1x1,d1x1,g8)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"Grouped32",
     "group_conv2d(float32[1,128,5,6]NCHW,float32[128,4,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g32)->float32",
     "add(channel:float32);relu"},
    {"GroupedFlat",
     "group_conv2d(float32[2,12,7,7]NCHW,float32[20,3,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g4)->float32",
     "add(channel:float32);add(tensor:float32);relu"},
    {"Transposed",
     "conv2d_transpose(float32[1,8,5,5]NCHW,float32[8,12,4,4]IOHW,s2x2,p1x1x1x1,d1x1,g1,o0x0)->"
     "float32",
     ""},
    {"Dense", "dense(float32[1,64]MK,float32[40,64]NK)->float32", "add(channel:float32)"},
    {"DenseRows", "dense(float32[6,96]MK,float32[72,96]NK)->float32",
     "add(channel:float32);div(1.5);erf;add(1);mul(%1);mul(0.5)"},
    {"DenseFewColumns", "dense(float32[3,320]MK,float32[5,320]NK)->float32",
     "add(channel:float32);relu"},
    {"DenseS8", "dense(int8[1,64]MK,int8[40,64]NK)->int32", "add(channel:int32)"},
    {"DenseS64", "dense(int64[6,24]MK,int64[40,24]NK)->int64", "add(channel:int64)"},
    {"DenseU32", "dense(uint32[6,24]MK,uint32[40,24]NK)->uint32", "add(channel:uint32)"},
    {"BatchU64", "batch_matmul(uint64[2,6,24]BMK,uint64[2,40,24]BNK)->uint64", ""},
    {"DenseU8OddSums", "dense(uint8[9,37]MK,int8[73,37]NK)->int32",
     "sub(channel:int32);cast(float32);mul(broadcast[]:float32);add(channel:float32)"},
    {"DenseS8OddSums", "dense(int8[6,38]MK,int8[101,38]NK)->int32", "sub(broadcast[0]:int32)"},
    {"DenseU8Tails", "dense(uint8[1,64]MK,int8[232,64]NK)->int32", "relu"},
    {"ConvF16",
     "conv2d(float16[1,20,9,8]NCHW,float16[24,20,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float16);relu;cast(float16)"},
    {"ConvF16Rounded",
     "conv2d(float16[1,16,7,7]NCHW,float16[16,16,1,1]OIHW,s1x1,p0x0x0x0,d1x1,g1)->float16",
     "add(channel:float16);relu"},
    {"DepthwiseF16",
     "depthwise_conv2d(float16[1,16,9,9]NCHW,float16[16,1,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g16)->"
     "float16",
     "clip(0,6)"},
    {"ConvBF16",
     "conv2d(bfloat16[1,20,9,8]NCHW,bfloat16[24,20,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32",
     "add(channel:float32);relu;cast(bfloat16)"},
    {"ConvBF16Pointwise",
     "conv2d(bfloat16[1,48,7,7]NCHW,bfloat16[40,48,1,1]OIHW,s2x2,p0x0x0x0,d1x1,g1)->float32",
     "add(channel:float32);add(tensor:bfloat16);relu;cast(bfloat16)"},
    {"ConvBF16Tiles",
     "conv2d(bfloat16[1,32,10,9]NCHW,bfloat16[32,32,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", ""},
    {"DenseBF16", "dense(bfloat16[9,64]MK,bfloat16[40,64]NK)->float32",
     "add(channel:float32);sigmoid;mul(%1);cast(bfloat16)"},
    {"DenseBF16OddTerms", "dense(bfloat16[3,41]MK,bfloat16[24,41]NK)->float32", ""},
    {"BatchBF16", "batch_matmul(bfloat16[2,11,72]BMK,bfloat16[2,40,72]BNK)->float32",
     "mul(0.5);cast(bfloat16)"},
    {"BatchBF16OddTerms", "batch_matmul(bfloat16[2,9,13]BMK,bfloat16[2,33,13]BNK)->float32", ""},
    {"DenseF16", "dense(float16[16,40]MK,float16[24,40]NK)->float16", "add(channel:float16)"},
    // One product each: no sums whose order decides what they are rounded to.
    {"DenseF16Casts", "dense(float16[4,1]MK,float16[8,1]NK)->float32",
     "cast(float16);cast(float32)"},
    {"DenseF16Long", "dense(float16[16,512]MK,float16[16,512]NK)->float32", ""},
    {"ConvF16Long",
     "conv2d(float16[1,64,4,4]NCHW,float16[16,64,3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32", ""},
    {"BatchMatmulF16Long", "batch_matmul(float16[1,16,512]BMK,float16[1,16,512]BNK)->float32", ""},
    {"BatchMatmulF16", "batch_matmul(float16[2,16,24]BMK,float16[2,24,24]BNK)->float32", ""},
    {"Windows",
     "expression(input x0:float32[3,9,9];t0[i0:3,i1:7,i2:7]=max(r0:3,r1:3)x0[i0,i1+r0,i2+r1])", ""},
    {"Expression",
     "expression(const x0:float32[24,20];input "
     "x1:float32[12,20];t0[i0:12,i1:24]=sum(r0:20)x0[i1,r0]"
     "*x1[i0,r0];t1[i0:12,i1:24]=max(t0[i0,i1],0.0))",
     ""},
    {"TurnedProduct",
     "expression(input x0:float16[2,32,24];input "
     "x1:float16[2,32,16];t0[i0:2,i1:16,i2:24]=sum(r0:32)"
     "float32(x0[i0,r0,i2])*float32(x1[i0,r0,i1]);t1[i0:2,i1:16,i2:24]=max(t0[i0,i1,i2],0.0))",
     ""},
    {"DenseOfManyRows", "dense(float32[40,24]MK,float32[36,24]NK)->float32",
     "add(channel:float32)"},
    {"BatchMatmulOfOddSizes", "batch_matmul(float32[2,19,11]BMK,float32[2,37,11]BNK)->float32",
     "mul(0.125);add(channel:float32);add(tensor:float32)"},
    {"BatchMatmulU8", "batch_matmul(uint8[2,19,12]BMK,int8[2,37,12]BNK)->int32",
     "sub(broadcast[0,2]:int32);sub(broadcast[0,1]:int32);cast(float32);mul(0.01);round_even"},
    {"BatchColumns", "batch_matmul(float32[2,5,11]BMK,float32[2,11,37]BKN)->float32",
     "mul(0.125);add(tensor:float32)"},
    {"BatchColumnsOfManyRows", "batch_matmul(float32[2,17,11]BMK,float32[2,11,21]BKN)->float32",
     ""},
    {"BatchColumnsF16", "batch_matmul(float16[2,9,13]BMK,float16[2,13,21]BKN)->float16", "relu"},
    {"BatchColumnsBF16", "batch_matmul(bfloat16[2,9,13]BMK,bfloat16[2,13,21]BKN)->float32", ""},
    {"BatchColumnsS16", "batch_matmul(int16[2,9,7]BMK,int16[2,7,37]BKN)->int32",
     "cast(float32);mul(0.01);round_even"},
    {"BatchColumnsOfBytes", "batch_matmul(int16[2,3,7]BMK,uint8[2,7,37]BKN)->int32",
     "sub(broadcast[0,1]:int32);cast(float32)"},
    {"BatchRowsS16", "batch_matmul(int16[2,9,6]BMK,int16[2,19,6]BNK)->int32", ""},
    {"BatchFewRows", "batch_matmul(float32[2,3,37]BMK,float32[2,19,37]BNK)->float32", ""},
    {"FewBitsFloat",
     "expression(const x0:uint8[2,4,8,16];input x1:float32[3,64];const x2:float32[2,4,"
     "16];t0[i0:2,i1:4,i2:16,i3:3]=sum(r0:8,r1:2)float32(select(r1==0,x0[i0,i1,r0,i2]%"
     "uint8(16),shr(x0[i0,i1,r0,i2],uint8(4))))*x1[i3,i1*16+r0*2+r1];t1[i0:3,i1:4]=sum"
     "(r0:16)x1[i0,i1*16+r0];t2[i0:3,i1:21]=sum(r0:4)(t0[i1/16,r0,i1%16,i0]-t1[i0,r0]*"
     "8.0)*x2[i1/16,r0,i1%16])",
     ""},
    {"FewBitsInt8",
     "expression(const x0:uint8[3,2,4,16,4];input x1:float32[1,64];const x2:uint8[3,2,"
     "16];const x3:float32[3,2,16];t0[i0:1,i1:2]=max(r0:32)abs(x1[i0,i1*32+r0]);t1[i0:"
     "1,i1:64]=int8(rint(x1[i0,i1]*select(0.0<t0[i0,i1/32],127.0/t0[i0,i1/32],0.0)));t"
     "2[i0:3,i1:2,i2:16,i3:1]=sum(r0:4,r1:4,r2:2)int32(select(r2==0,x0[i0,i1,r0,i2,r1]"
     "%uint8(16),shr(x0[i0,i1,r0,i2,r1],uint8(4))))*int32(t1[i3,i1*32+r0*8+r1+r2*4]);t"
     "3[i0:1,i1:2]=sum(r0:32)int32(t1[i0,i1*32+r0]);t4[i0:1,i1:37]=sum(r0:2)float32(t2"
     "[i1/16,r0,i1%16,i0]-int32(x2[i1/16,r0,i1%16])*t3[i0,r0])*(x3[i1/16,r0,i1%16]*(t0"
     "[i0,r0]/127.0)))",
     ""},
    {"FewBitsRows",
     "expression(input x0:float32[17,64];const x1:uint8[2,2,8,16];const x2:float32[2,2"
     ",16];const x3:float32[2,2,16];t0[i0:17,i1:2,i2:2,i3:16]=sum(r0:4,r1:8)x0[i0,i1*3"
     "2+r0+r1*4]*float32(select(r0==0,x1[i2,i1,r1,i3]%uint8(4),select(r0==1,shr(x1[i2,"
     "i1,r1,i3],uint8(2))%uint8(4),select(2==r0,shr(x1[i2,i1,r1,i3],uint8(4))%uint8(4)"
     ",shr(x1[i2,i1,r1,i3],uint8(6))))));t1[i0:17,i1:2]=sum(r0:32)x0[i0,i1*32+r0];t2[i"
     "0:17,i1:32]=sum(r0:2)(t0[i0,r0,i1/16,i1%16]-x2[i1/16,r0,i1%16]*t1[i0,r0])*x3[i1/"
     "16,r0,i1%16])",
     ""},
    {"FewBitsInt8Rows",
     "expression(const x0:uint8[3,2,8,16,4];input x1:float32[7,64];const x2:float32[3,"
     "2,16];t0[i0:7,i1:2]=max(r0:32)abs(x1[i0,i1*32+r0]);t1[i0:7,i1:64]=int8(rint(x1[i"
     "0,i1]*select(0.0<t0[i0,i1/32],127.0/t0[i0,i1/32],0.0)));t2[i0:3,i1:2,i2:16,i3:7]"
     "=sum(r0:8,r1:4,r2:1)int32(x0[i0,i1,r0,i2,r1])*int32(t1[i3,i1*32+r0*4+r1+r2*4]);t"
     "3[i0:7,i1:2]=sum(r0:32)int32(t1[i0,i1*32+r0]);t4[i0:7,i1:48]=sum(r0:2)float32(t2"
     "[i1/16,r0,i1%16,i0]-t3[i0,r0]*int32(128))*(x2[i1/16,r0,i1%16]*(t0[i0,r0]/127.0))"
     ")",
     ""},
    {"FewBitsPairs",
     "expression(const x0:uint8[1,2,4,16,4];input x1:float32[2,128];const x2:float32[1"
     ",2,16];const x3:float32[1,2,16];t0[i0:2,i1:2]=max(r0:64)abs(x1[i0,i1*64+r0]);t1["
     "i0:2,i1:128]=int8(rint(x1[i0,i1]*select(0.0<t0[i0,i1/64],127.0/t0[i0,i1/64],0.0)"
     "));t2[i0:1,i1:2,i2:16,i3:2]=sum(r0:4,r1:4,r2:4)int32(select(r2==0,x0[i0,i1,r0,i2"
     ",r1]%uint8(4),select(r2==1,shr(x0[i0,i1,r0,i2,r1],uint8(2))%uint8(4),select(2==r"
     "2,shr(x0[i0,i1,r0,i2,r1],uint8(4))%uint8(4),shr(x0[i0,i1,r0,i2,r1],uint8(6))))))"
     "*int32(t1[i3,i1*64+r0*16+r1+r2*4]);t3[i0:2,i1:2]=sum(r0:64)int32(t1[i0,i1*64+r0]"
     ");t4[i0:2,i1:16]=sum(r0:2)(float32(t2[i1/16,r0,i1%16,i0])-x2[i1/16,r0,i1%16]*flo"
     "at32(t3[i0,r0]))*(x3[i1/16,r0,i1%16]*(t0[i0,r0]/127.0)))",
     ""},
    {"BatchMatmul", "batch_matmul(float32[3,12,32]BMK,float32[3,20,32]BNK)->float32", ""},
};

}  // namespace tilewright
