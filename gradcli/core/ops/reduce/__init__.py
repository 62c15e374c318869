"""Operations along dimensions: sums, extremes, norms, statistics, running sums, differences."""
