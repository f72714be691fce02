/* Stands in for llm.c's llmc/dataloader.h in train_gpt2.c: the same functions and members, the same batches in the same
 * order, but the tokens come through mdstream: out of a directory or a bucket. */
#ifndef MDSTREAM_DATALOADER_H
#define MDSTREAM_DATALOADER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  size_t num_tokens; /* of whole batches, and the one after the last */
  int* inputs;       /* of the current batch: B * T tokens */
  int* targets;      /* the tokens after them */
  struct mdstream_tokens* tokens;
} DataLoader;

/* Opens the token file at `url`: a path, file:// or s3://bucket/key. A bucket's tokens are cached below the directory that
 * MDSTREAM_CACHE names. num_processes has to be 1, as in train_gpt2.c. Every function prints what fails, and exits. */
void dataloader_init(DataLoader* loader, const char* url, size_t B, size_t T, int process_rank,
                     int num_processes, int should_shuffle);
/* Goes to the beginning of the next epoch. */
void dataloader_reset(DataLoader* loader);
/* After the last batch of an epoch comes the first of the next. */
void dataloader_next_batch(DataLoader* loader);
void dataloader_free(DataLoader* loader);

#ifdef __cplusplus
}
#endif

#endif
