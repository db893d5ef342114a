#define N 3

/* c = a * b for square matrices. */
void multiply(double a[N][N], double b[N][N], double c[N][N]) {
    int i, j, k;
    for (i = 0; i < N; i++) {
        for (j = 0; j < N; j++) {
            c[i][j] = 0.0;
            for (k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
    }
}

double trace(double a[N][N]) {
    double t = 0.0;
    for (int i = 0; i < N; i++)
        t += a[i][i];
    return t;
}
