/* Status codes in English. */
#include "gpt_layers.h"

const char *gpt_status_text(int status)
{
    switch (status) {
    case GPT_OK: return "ok";
    case GPT_ERR_NULL: return "a required pointer is NULL";
    case GPT_ERR_SIZE: return "a size is 0 or too large to address";
    case GPT_ERR_VALUE: return "a value is out of its range";
    default: return "unknown status";
    }
}
