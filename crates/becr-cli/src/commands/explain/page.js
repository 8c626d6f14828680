// Shades the words by their similarity to one query term, or each by the term it is closest to.
const words = document.querySelectorAll('.text b');
const hues = JSON.parse(document.getElementById('hues').textContent);
document.querySelectorAll('input[name=term]').forEach(input => input.addEventListener('change', () => {
  for (const word of words) {
    const strengths = word.dataset.s.split(' ').map(Number);
    const term = input.value === 'all' ? strengths.indexOf(Math.max(...strengths)) : Number(input.value);
    word.style.setProperty('--h', hues[term]);
    word.style.setProperty('--s', strengths[term]);
  }
}));
