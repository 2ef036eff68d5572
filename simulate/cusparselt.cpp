// cuSPARSELt, products with matrices of which half is zero, is refused whole.
#include <cusparseLt.h>

#include "answer.h"

#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUSPARSE_STATUS_NOT_SUPPORTED)
#include "cusparselt.def"

extern "C" {

const char* cusparseLtGetErrorName(cusparseStatus_t) {
  return "CUSPARSE_STATUS_NOT_SUPPORTED";
}
const char* cusparseLtGetErrorString(cusparseStatus_t) {
  return "operation not supported";
}

}  // extern "C"
