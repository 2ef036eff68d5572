#include <stdio.h>
int main(int count, char** arguments) {
  printf("static with %d arguments, the last %s\n", count, arguments[count - 1]);
  return 5;
}
