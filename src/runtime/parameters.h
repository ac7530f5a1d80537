#pragma once

/* Constants of a model in a separate file. Part of the runtime. */

#include "src/runtime/model.h"

/** Maps the parameter file of a model, for reading. Returns 0 and the start of the mapping, or a
 *  code of src/runtime/model.h. */
int32_t TwParametersMap(const TwModel* model, const char* path, unsigned char** mapped);
/** mapped: of TwParametersMap, or null. */
void TwParametersUnmap(const TwModel* model, unsigned char* mapped);
